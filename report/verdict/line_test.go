package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

const second = time.Second

// nodeOf is the path of the node that a transaction created.
func nodeOf(czxid int64) string { return fmt.Sprintf("/l/n-%010d", czxid) }

func opened(client int, session int64) *history.Session {
	return &history.Session{Event: history.Opened, Client: client, Session: session, Timeout: 4 * second}
}

func created(session, zxid int64) *history.Commit {
	return &history.Commit{Op: history.CommitCreate, Session: session, Zxid: zxid, Cxid: 1, Path: nodeOf(zxid), Ephemeral: true}
}

func deleted(session, czxid, zxid int64) *history.Commit {
	return &history.Commit{Op: history.CommitDelete, Session: session, Zxid: zxid, Cxid: 2, Path: nodeOf(czxid)}
}

func sessionGone(session, zxid int64, czxids ...int64) *history.Commit {
	c := &history.Commit{Op: history.CommitClose, Session: session, Zxid: zxid}
	for _, k := range czxids {
		c.Removed = append(c.Removed, nodeOf(k))
	}
	return c
}

// operation is one that took a millisecond before at, of the client whose session is 100
// more than its number.
func operation(op string, client int, czxid, zxid int64, at time.Duration) *history.Sample {
	return &history.Sample{Op: op, Outcome: history.OK, Client: client, Session: int64(100 + client), Token: czxid, Path: nodeOf(czxid),
		Zxid: zxid, Call: at - time.Millisecond, Due: at - time.Millisecond, Return: at}
}

func whole() *history.CommitsEnd { return &history.CommitsEnd{Last: 99} }

func withGap() *history.CommitsEnd {
	return &history.CommitsEnd{Last: 99, Gaps: []history.ZxidGap{{From: 3, To: 20}}}
}

// What a lock promises: to be fair, or not.
var (
	fair   = history.Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}
	unfair = history.Promises{Exclusive: true, Deadline: true, Events: true}
)

func seconds(n int64) time.Duration { return time.Duration(n) * second }

func join(parts ...[]history.Record) []history.Record { return slices.Concat(parts...) }

func judgeOne(t *testing.T, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	judgeFor(t, fair, guarantee, records, result, reason)
}

// judgeFor judges a lock that makes these promises.
func judgeFor(t *testing.T, promises history.Promises, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	judgeHeader(t, history.Header{Trial: "t", Recipe: Lock, Promises: promises}, guarantee, records, result, reason)
}

func judgeHeader(t *testing.T, header history.Header, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	for _, v := range Judge(history.Of(header, records...)) {
		if v.Guarantee != guarantee {
			continue
		}
		if why := strings.Join(v.Reasons, "\n"); v.Result != result || !strings.Contains(why, reason) {
			t.Errorf("%s %q, want %s with %q", v.Result, why, result, reason)
		}
		if v.Result == Fail && len(v.Records) == 0 {
			t.Error("a failure without a record that proves it")
		}
		return
	}
	t.Errorf("%s is not judged", guarantee)
}

// A line whose first node stands for ever keeps no more than those that stand, and as many.
func TestLine_forgetsWhoHasGone(t *testing.T) {
	l := facts.NewNodeTable(&history.History{})
	l.Record(created(1, 1))
	for z := int64(2); z < 100_000; z += 2 {
		l.Record(created(2, z))
		l.Record(deleted(2, z, z+1))
	}
	d := l.Dirs["/l"]
	if len(d.Standing) > 4 || len(d.Removed) > 2*facts.RemovedLimit || len(l.Nodes) > 2*facts.RemovedLimit+1 {
		t.Errorf("%d stand, %d are remembered, %d by name", len(d.Standing), len(d.Removed), len(l.Nodes))
	}
}

// A name that is used again and again is not remembered for ever.
func TestLine_forgetsOldNodesOfOneName(t *testing.T) {
	l := facts.NewNodeTable(&history.History{})
	for z := int64(2); z < 100_000; z += 2 {
		c, d := created(2, z), deleted(2, z, z+1)
		c.Path, d.Path = "/l/lock", "/l/lock"
		l.Record(c)
		l.Record(d)
	}
	kept := 0
	for n := l.Nodes["/l/lock"]; n != nil; n = n.Before {
		kept++
	}
	if kept > 2*facts.RemovedLimit || l.Find("/l/lock", 99_998-2) == nil {
		t.Errorf("%d nodes are remembered", kept)
	}
}
