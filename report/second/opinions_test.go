package second

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

const ms = time.Millisecond

// asked gives the opinions of a history as it is judged.
func asked(h *history.History) (*Sampler, verdict.Verdict) {
	o, sweep := NewSamplers(h)[0], verdict.NewSweep(h)
	sweep.OnBelief, sweep.OnOverlap = o.Belief, o.Overlap
	for n := range h.Records {
		o.Record(n)
		sweep.Add(n)
	}
	return o, exclusion(sweep.Close(nil))
}

// committed makes a history with commits: clients that hold in turn. Of some the session
// expires, and they do not know until later, or even hear, after the next one was let in,
// that they are connected again; others let the next in before they let go.
func committed(r *rand.Rand) *history.History {
	var records []history.Record
	now := time.Second
	for i := range 2 + r.IntN(40) {
		client, session, czxid := i, int64(i+1), int64(10*i+11)
		node := fmt.Sprintf("/l/n-%010d", i)
		expires := r.IntN(5) == 0
		let := now + time.Duration(20+r.IntN(20))*ms
		s := history.Sample{Client: client, Op: history.Acquire, Call: now - 5*ms, Return: now, Outcome: history.OK, Token: czxid, Session: session, Path: node, Zxid: czxid}
		released := s
		released.Op, released.Call, released.Return, released.Zxid = history.Release, let, let+ms, czxid+5
		gone := &history.Commit{Op: history.CommitDelete, Session: session, Zxid: czxid + 5, Cxid: 2, Path: node}
		var heard []history.Record
		now = let + time.Duration(1+r.IntN(5))*ms
		switch {
		case expires:
			gone = &history.Commit{Op: history.CommitClose, Session: session, Zxid: czxid + 5, Removed: []string{node}}
			released.Outcome, now = history.Failed, let-time.Duration(r.IntN(9))*ms
			if now+ms < let && r.IntN(2) == 0 {
				heard = []history.Record{
					&history.Session{At: now - 5*ms, Event: history.Suspended, Client: client, Session: session},
					&history.Session{At: now + ms, Event: history.Restored, Client: client, Session: session},
				}
			}
		case r.IntN(40) == 0:
			now = let - 5*ms // too early
		}
		records = append(records, &history.Session{Event: history.Opened, Client: client, Session: session, Timeout: 4 * time.Second},
			&history.Commit{Op: history.CommitCreate, Session: session, Zxid: czxid, Cxid: 1, Path: node, Ephemeral: true}, &s, gone)
		records = append(append(records, heard...), &released)
	}
	records = append(records, &history.CommitsEnd{})
	return history.Of(history.Header{Recipe: verdict.Lock, Promises: history.Promises{Exclusive: true, FIFO: true, Events: true}}, records...)
}

// By the commits, too, search and sweep are of one opinion.
func TestSearch_agreesWithTheVerdictByTheCommits(t *testing.T) {
	tally := map[string]int{}
	for seed := range uint64(500) {
		h := committed(rand.New(rand.NewPCG(seed, 2)))
		o, first := asked(h)
		got := search(h, excuse)
		tally[got]++
		if got != first.Result {
			t.Errorf("seed %d: the verdict says %s (%v), the search says %s", seed, first.Result, first.Reasons, got)
		}
		if against := o.Close(); against != "" || first.Result == verdict.Pass && o.searched == 0 {
			t.Errorf("seed %d: %d windows were searched: %s", seed, o.searched, against)
		}
	}
	if tally[verdict.Pass] < 50 || tally[verdict.Fail] < 50 {
		t.Errorf("the histories are too much alike: %v", tally)
	}
}

// Whatever the verdict overlooks, a window of the second opinion does not.
func TestOpinions_areAgainstAnOverlapThatNobodyReports(t *testing.T) {
	for _, c := range []struct {
		name    string
		wrong   int // this one goes on for too long; -1 for none
		exposed bool
		want    string
	}{
		{"none", -1, false, ""},
		{"the first", 0, false, "between 0s and 24ms"},
		{"one in a later window", 100, false, "between 96ms and 120ms"},
		{"one between the windows, which is taken for exposure", 40, true, "between 40ms and 42ms"},
		{"one between the windows", 40, false, ""},
	} {
		o := NewSamplers(history.Of(history.Header{}))[0]
		for i := range 1000 {
			at := time.Duration(i) * ms
			b := facts.Belief{Client: i, Permits: 1, Session: int64(i), Token: int64(i + 1), Call: at, Start: at, End: at + ms}
			if i == c.wrong {
				b.End += ms / 2
			}
			if c.exposed && i == c.wrong+1 {
				o.Overlap(verdict.Overlap{Exposure: true})
			}
			o.Belief(b)
		}
		if got := o.Close(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if o.searched > 12 {
			t.Errorf("%s: %d windows of 1000 beliefs were searched", c.name, o.searched)
		}
	}
}

// A verdict that has failed needs nobody's agreement.
func TestOpinions_ofAFailedVerdict(t *testing.T) {
	o := NewSamplers(history.Of(history.Header{}))[0]
	o.Belief(facts.Belief{Client: 1, Token: 1, Start: 0, End: 9 * ms})
	o.Overlap(verdict.Overlap{})
	o.Belief(facts.Belief{Client: 2, Token: 2, Start: 5 * ms, End: 9 * ms})
	if got := o.Close(); got != "" || o.searched > 0 {
		t.Errorf("%d windows were searched: %q", o.searched, got)
	}
}
