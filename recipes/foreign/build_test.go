package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

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
