package ensembles

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestDisk_delaysFsyncsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Disk
		accesses := func(what string, fsync bool, want syscall.Errno, wantTook time.Duration) {
			t.Helper()
			begin := time.Now()
			if errno := d.Access(t.Context(), fsync); errno != want || time.Since(begin) != wantTook {
				t.Errorf("%s: %v after %v, want %v after %v", what, errno, time.Since(begin), want, wantTook)
			}
		}
		accesses("a healthy disk", true, 0, 0)
		heal, err := d.Break(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Break(0); err == nil {
			t.Error("a second fault was accepted")
		}
		accesses("a write to a slow disk", false, 0, 0)
		accesses("an fsync of a slow disk", true, 0, time.Second)
		if n, least := d.Hits(); n != 1 || least != time.Second {
			t.Errorf("%d delayed fsyncs, of %v or more", n, least)
		}
		go func() { time.Sleep(time.Second / 4); heal(); heal() }()
		accesses("an fsync during which the disk heals", true, 0, time.Second/4)
		if n, _ := d.Hits(); n != 1 {
			t.Errorf("%d delayed fsyncs with one that ended early", n)
		}
		accesses("an fsync after that", true, 0, 0)
		if heal, err = d.Break(0); err != nil {
			t.Fatal(err)
		}
		accesses("a write to a failing disk", false, syscall.EIO, 0)
		accesses("an fsync of a failing disk", true, syscall.EIO, 0)
		if n, _ := d.Hits(); n != 2 {
			t.Errorf("%d failures", n)
		}
		heal()
		accesses("a healed disk", false, 0, 0)
	})
}

// A process that is killed waits for the fsyncs in progress.
func TestDisk_endsAnInterruptedFsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Disk
		heal, err := d.Break(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		defer heal()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if errno := d.Access(ctx, true); errno != syscall.EINTR {
			t.Errorf("got %v", errno)
		}
		if n, _ := d.Hits(); n != 0 {
			t.Errorf("%d delayed fsyncs", n)
		}
	})
}
