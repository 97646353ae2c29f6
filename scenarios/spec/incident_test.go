package spec_test

import (
	"strings"
	"testing"

	_ "github.com/zkbench/zkbench/recipes/foreign"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestIncident_refusesWhatIsNone(t *testing.T) {
	const name = "incident/go-zookeeper-orphan"
	for _, row := range []struct{ about, override, want string }{
		{"as it is", "about=x", ""},
		{"without a thread", "incident.thread=''", "incident.thread: is required"},
		{"without a cause", "incident.cause=''", "incident.cause: is required"},
		{"one that shows and does not", "incident.tried=much", "incident.tried: applies only to bugs that cannot be reproduced"},
		{"one that does not show, without a word", "specimens.0.caught=[]", "incident.tried: is required"},
	} {
		t.Run(row.about, func(t *testing.T) {
			_, text, err := spec.Source(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = spec.Load(name, text, row.override)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
