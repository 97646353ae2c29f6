//go:build unix

package safefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead_refusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", dir} { // reading any but the last would never end
		if _, err := Read(path, Config); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRead_hasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for size, fits := range map[int]bool{10: true, 11: false} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, 10); fits != (err == nil) || fits && len(got) != size || !fits && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
