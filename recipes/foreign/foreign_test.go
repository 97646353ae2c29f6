package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

func TestDrivers_whoseLibraryIsMissingSayHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	s, err := recipes.Find("lock/curator")
	must(t, err)
	_, stop, err := s.Start(t.Context(), recipes.Trial{})
	stop()
	for _, e := range []error{err, s.Missing()} {
		if e == nil || !strings.Contains(e.Error(), "apt-get install --no-install-recommends default-jdk-headless libcurator-recipes-java") {
			t.Errorf("got %v", e)
		}
	}
}

// A module in the current folder is not the library: whoever planted it would have it executed.
func TestKazoo_isNotTakenFromTheCurrentFolder(t *testing.T) {
	if kazoo.Missing() != nil {
		t.Skip(kazoo.Missing())
	}
	t.Chdir(t.TempDir())
	planted := "open('executed', 'w'); raise SystemExit(1)"
	must(t, os.WriteFile("kazoo.py", []byte(planted), 0o644))
	must(t, (&python{}).Missing())
	if _, err := os.Stat("executed"); err == nil {
		t.Error("the planted module was executed")
	}
}

func TestVersions_areFoundInTheCache(t *testing.T) {
	state := t.TempDir()
	t.Setenv("ZKBENCH_STATE", state)
	if got := Versions(curator); got != nil {
		t.Errorf("nothing is installed, and there are %v", got)
	}
	for _, folder := range []string{"curator/5.7.1/lib", "curator/5.10.0/lib", "curator/half.tmp/lib", "kazoo/2.11.0/kazoo"} {
		must(t, os.MkdirAll(filepath.Join(state, "versions", folder), 0o755))
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
	must(t, os.Chmod(filepath.Join(state, "versions/curator"), 0o777))
	if got := Versions(curator); got != nil {
		t.Errorf("others can write to the folder, and its programs would be run: %v", got)
	}
	if d := (Driver{Library: curator}).at("5.7.1"); !strings.HasSuffix(d.Name, "@5.7.1") {
		t.Errorf("its name is %s", d.Name)
	}
}

func TestBuilt_isMadeOnceForEveryContentByWhoeverComesFirst(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", t.TempDir())
	var builds atomic.Int32
	build := func(dir string) error {
		builds.Add(1)
		return os.WriteFile(filepath.Join(dir, "made"), nil, 0o600)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			dir, err := buildDir("", build, "python")
			if err != nil {
				t.Error(err)
			}
			for _, name := range []string{"driver.py", "made"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	before := builds.Load()
	if _, err := buildDir("", build, "python"); err != nil || builds.Load() != before {
		t.Errorf("built again: %d times after %d, %v", builds.Load(), before, err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("ZKBENCH_STATE"), "drivers", ".half-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestBuilt_thatFailsLeavesNothing(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", t.TempDir())
	broken := errors.New("no")
	if _, err := buildDir("", func(string) error { return broken }, "python"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(os.Getenv("ZKBENCH_STATE"), "drivers")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestBuilt_refusesAFolderWhereOthersCanWrite(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", t.TempDir())
	dir := filepath.Join(os.Getenv("ZKBENCH_STATE"), "drivers")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Chmod(dir, 0o770))
	if _, err := buildDir("", nil, "python"); err == nil || !strings.Contains(err.Error(), "other users can write to this folder, from which programs are run (remove it, or set ZKBENCH_STATE)") {
		t.Errorf("got %v", err)
	}
}
