package recipes

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// heap returns the bytes that live objects take.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the first one may have met a sweep under way
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestSession_takesLittleHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a thousand sessions")
	}
	const n, limit = 1000, 64 << 10
	ctx, goroutines, before := within(t, 2*time.Minute), goleak.IgnoreCurrent(), heap()
	sessions := make([]*Session, n)
	var all sync.WaitGroup
	few := make(chan struct{}, 50) // at a time
	for i := range sessions {
		all.Go(func() {
			few <- struct{}{}
			defer func() { <-few }()
			s, err := Open(ctx, inOrder(i), Options{Timeout: 20 * tick})
			if err != nil {
				t.Error(err)
				return
			}
			sessions[i] = s
		})
	}
	all.Wait()
	each := (heap() - before) / n
	t.Logf("%d KiB of heap a session", each>>10)
	if each > limit {
		t.Errorf("a session takes %d bytes of heap, want at most %d", each, limit)
	}
	for _, s := range sessions {
		if s != nil {
			all.Go(func() { s.Close() })
		}
	}
	all.Wait()
	if err := goleak.Find(goroutines); err != nil {
		t.Errorf("after all sessions are closed: %v", err)
	}
}
