package recipes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, v := range []Variant{Parent, Predecessor} {
		var holders atomic.Int32
		var wg sync.WaitGroup
		root := fmt.Sprintf("/smoke-%d/%s", time.Now().UnixNano(), v)
		start := time.Now()
		for i := range 10 {
			wg.Go(func() {
				s, err := Open(ctx, []string{"127.0.0.1:12181"}, Options{Timeout: 4 * time.Second})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				l := NewLock(s, root, v)
				for range 50 {
					g, err := l.Acquire(ctx)
					if err != nil {
						t.Error(i, err)
						return
					}
					if holders.Add(1) != 1 {
						t.Error("two holders")
					}
					if g.Token == 0 || g.SessionID == 0 {
						t.Error(g)
					}
					holders.Add(-1)
					if err := g.Release(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		t.Log(v, time.Since(start), "per handoff", time.Since(start)/500)
	}
}
