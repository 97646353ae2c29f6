package chaos

import (
	"os"
	"testing"

	"github.com/vishvananda/netns"
)

func TestProbe_leavesTheNamespaceThatItMade(t *testing.T) {
	before, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	a := Probe(t.Context())
	if os.Geteuid() == 0 && (a.Namespaces != nil || a.Filter != nil) {
		t.Errorf("root cannot cut networks here: %+v", a)
	}
	after, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if !before.Equal(after) {
		t.Error("the probe left us in its namespace")
	}
	t.Logf("%+v", a)
}
