package ensembles

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestDisk_delaysOrFailsUntilHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Disk
		syncs := func(what string, want syscall.Errno, wantTook time.Duration) {
			t.Helper()
			begin := time.Now()
			if errno := d.Sync(t.Context()); errno != want || time.Since(begin) != wantTook {
				t.Errorf("%s: %v after %v, want %v after %v", what, errno, time.Since(begin), want, wantTook)
			}
		}
		breaks := func(delay time.Duration) (heal func(), hits func() int64) {
			heal, hits, err := d.Break(delay)
			if err != nil {
				t.Fatal(err)
			}
			return heal, hits
		}
		syncs("a healthy disk", 0, 0)
		heal, hits := breaks(time.Second)
		if _, _, err := d.Break(0); err == nil {
			t.Error("a second fault was accepted")
		}
		syncs("a slow disk", 0, time.Second)
		early := heal
		go func() { time.Sleep(time.Second / 4); early(); early() }()
		syncs("a disk that heals", 0, time.Second/4)
		if n := hits(); n != 1 {
			t.Errorf("%d delayed fsyncs of 1, and one that ended early", n)
		}
		syncs("a healed disk", 0, 0)
		heal, hits = breaks(0)
		syncs("a failing disk", syscall.EIO, 0)
		heal()
		syncs("a disk healed again", 0, 0)
		if n := hits(); n != 1 {
			t.Errorf("%d failures of 1", n)
		}
	})
}

// A process that is killed waits for the fsyncs in progress.
func TestDisk_endsAnInterruptedFsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Disk
		heal, hits, err := d.Break(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		defer heal()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if errno := d.Sync(ctx); errno != syscall.EINTR || hits() != 0 {
			t.Errorf("got %v; %d delayed fsyncs", errno, hits())
		}
	})
}
