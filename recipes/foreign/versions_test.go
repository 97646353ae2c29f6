package foreign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVersions_areFoundInTheCache(t *testing.T) {
	state := t.TempDir()
	t.Setenv("ZKBENCH_STATE", state)
	if got := Versions(curator); got != nil {
		t.Errorf("nothing is installed, and there are %v", got)
	}
	for _, folder := range []string{"curator/5.7.1/lib", "curator/5.10.0/lib", "curator/half.tmp/lib", "kazoo/2.11.0/kazoo"} {
		if err := os.MkdirAll(filepath.Join(state, "versions", folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := Versions(curator); !slices.Equal(got, []string{"5.7.1", "5.10.0"}) {
		t.Errorf("versions %v", got)
	}
	if got, want := curator.at("5.7.1").(*java).classPath(), filepath.Join(state, "versions/curator/5.7.1/lib/*"); got != want {
		t.Errorf("class path %s, want %s", got, want)
	}
	if got := curator.version(); got != "5.10.0" {
		t.Errorf("the newest is %s", got)
	}
	command, err := kazoo.at("2.11.0").Command(t.Context(), "kazoo_lock.py")
	if err != nil || !slices.Contains(command, "PYTHONPATH="+filepath.Join(state, "versions/kazoo/2.11.0")) {
		t.Errorf("%v, %v", command, err)
	}
	if err := os.Chmod(filepath.Join(state, "versions/curator"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := Versions(curator); got != nil {
		t.Errorf("others can write to the folder, and its programs would be run: %v", got)
	}
	if d := (Driver{From: curator}).at("5.7.1"); !strings.HasSuffix(d.Name, "@5.7.1") {
		t.Errorf("its name is %s", d.Name)
	}
}
