//go:build linux

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestVersions_areFoundByNumber(t *testing.T) {
	needsDebians(t)
	t.Setenv("ZOOKEEPER_HOME", "")
	state := t.TempDir()
	t.Setenv("ZKBENCH_STATE", state)
	for _, version := range []string{"3.9.6", "3.10.0", "3.9.3", "newest"} {
		lib := filepath.Join(state, "versions", "zookeeper", version, "lib")
		check.OK(t, os.MkdirAll(lib, 0o755))
		check.OK(t, os.WriteFile(filepath.Join(lib, "zookeeper-"+version+".jar"), nil, 0o644))
	}
	if got := Versions(); !slices.Equal(got, []string{"3.9.3", "3.9.6", "3.10.0"}) {
		t.Errorf("versions %v", got)
	}
	for home, want := range map[string]string{
		"": "zookeeper/3.10.0/lib", "3.9.3": "zookeeper/3.9.3/lib", debianVersion(): "/usr/share/java",
	} {
		if got, _, err := findZooKeeper(home); err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %s, %v; want %s", home, got, err, want)
		}
	}
	if _, _, err := findZooKeeper("3.9.7"); err == nil || !strings.Contains(err.Error(), "ZooKeeper 3.9.7 is not installed; installed in "+state) {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() == 0 { // programs of another user are not run
		check.OK(t, os.Chown(filepath.Join(state, "versions", "zookeeper"), 65534, 65534))
		if got := Versions(); got != nil {
			t.Errorf("another user's folder: %v", got)
		}
	}
}
