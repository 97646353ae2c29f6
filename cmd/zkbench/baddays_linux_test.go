package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk stops the trial; what was written stays, and the exit code says that
// nothing could be judged. The disk is a small file system in memory.
func TestRun_diskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small file system to fill")
	}
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	out := filepath.Join(small, "out")
	r := startHerd(t, "--out", out, "--set", "phases.1.hold=0s", "--set", "phases.1.faults=[]")
	if code := r.end(); code != "3" {
		t.Errorf("exit code %s, want 3; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	if said := strings.Join(r.said, "\n"); !strings.Contains(said, "no space left on device") {
		t.Errorf("it does not say that the disk is full:\n%s", said)
	}
	if h, err := filepath.Glob(filepath.Join(out, "history", "*.zst")); err != nil || len(h) != 1 {
		t.Errorf("the history is not kept: %v %v", h, err)
	}
	r.gone()
}
