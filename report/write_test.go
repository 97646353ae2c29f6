package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run folder may come from a stranger: links in it lead nowhere.
func TestWriteFile_followsNoLinkOutOfTheFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim.svg")
	for _, err := range []error{
		os.WriteFile(victim, []byte("mine"), 0o644),
		os.Symlink(outside, filepath.Join(dir, PlotDir)),
		os.Symlink(victim, filepath.Join(dir, PageFile)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(dir, filepath.Join(PlotDir, "victim.svg"), []byte("theirs")); err == nil || !strings.Contains(err.Error(), "victim.svg") {
		t.Errorf("a folder that is a link was written to: %v", err)
	}
	if err := Sweep(dir, PlotDir, func(string) bool { return true }); err == nil {
		t.Error("a folder that is a link was swept")
	}
	if err := WriteFile(dir, PageFile, []byte("page")); err != nil { // takes the link's place
		t.Error(err)
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
		t.Errorf("outside there is %q (%v)", got, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there are %v (%v)", entries, err)
	}
}

func TestSweep_ofAFolderThatIsNotThere(t *testing.T) {
	if err := Sweep(t.TempDir(), PlotDir, func(string) bool { return true }); err != nil {
		t.Error(err)
	}
}
