package facts

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

// A client that grants itself again and again, before any reply has reached it, needs no more memory for that.
func TestGrants_withoutAReply(t *testing.T) {
	commits := NewNodeTable(&history.History{})
	a, judged := NewGrants(commits, history.Promises{}), 0
	a.OnJudged = func(g *Grant) {
		if judged++; g.Valid() || g.InvalidReason == "" {
			t.Errorf("%+v", g)
		}
	}
	a.Record(history.Numbered{N: 1, Record: &history.Session{Event: history.Opened, Client: 1, Session: 101}})
	for n := range 1000 {
		a.Record(history.Numbered{N: n + 2, Record: &history.Sample{Client: 1, Op: history.Acquire, Outcome: history.OK}})
		if g := a.Last(n + 2); g == nil || g.Session != 101 || len(a.open) != 1 || judged > 0 {
			t.Fatalf("after %d grants: %+v, %d kept, %d judged", n+1, g, len(a.open), judged)
		}
	}
	a.Record(history.Numbered{N: 2000, Record: &history.Sample{Client: 1, Op: history.Release, Zxid: 5}})
	a.Record(history.Numbered{N: 2001, Record: &history.Sample{Client: 1, Op: history.Release, Zxid: 5}})
	if len(a.open)+len(a.silent) > 0 || judged != 1 {
		t.Errorf("%d kept, %d judged", len(a.open)+len(a.silent), judged)
	}
}
