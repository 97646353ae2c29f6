package second

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// taken makes a history of a queue with two producers and three consumers, in which
// now and then something goes wrong: a reply that is lost, an item that is put twice,
// delivered twice, dropped, taken out of turn, claimed, moved or never put.
func taken(r *rand.Rand) *history.History {
	var records []history.Record
	add := func(x ...history.Record) { records = append(records, x...) }
	for c := range 5 {
		add(&history.Session{Event: history.Opened, Client: c, Session: int64(100 + c), Timeout: 4 * time.Second})
	}
	zxid := int64(0)
	commit := func(op string, client int, node int64, item string) {
		zxid++
		add(&history.Commit{Zxid: zxid, Op: op, Session: int64(100 + client), Cxid: int32(zxid), Path: fmt.Sprintf("/q/qn-%d", max(node, zxid*(1-min(node, 1)))), Item: item})
	}
	at := time.Millisecond
	sample := func(op string, client int, item string, o history.Outcome) {
		at += time.Millisecond
		add(&history.Sample{Client: client, Op: op, Item: item, Outcome: o, Call: at, Return: at, Zxid: zxid})
	}
	var line []struct {
		node int64
		item string
	}
	odd := func() bool { return r.IntN(40) == 0 }
	for i := range 4 + r.IntN(12) {
		item, producer := fmt.Sprint("i", i), r.IntN(2)
		for range 1 + min(1, r.IntN(40)/39) { // hardly ever twice
			if odd() {
				continue // put, and never in the queue
			}
			commit(history.CommitCreate, producer, 0, item)
			line = append(line, struct {
				node int64
				item string
			}{zxid, item})
		}
		if outcome := history.OK; odd() {
			sample(history.Put, producer, item, history.Unknown)
		} else if !odd() {
			if odd() {
				outcome = history.Failed
			}
			sample(history.Put, producer, item, outcome)
		}
		for len(line) > 0 && r.IntN(3) > 0 {
			k, consumer := 0, 2+r.IntN(3)
			if odd() {
				k = len(line) - 1
			}
			x := line[k]
			line = append(line[:k:k], line[k+1:]...)
			if odd() { // handed out before it is removed
				sample(history.Take, consumer, x.item, history.OK)
				commit(history.CommitDelete, consumer, x.node, "")
				continue
			}
			commit(history.CommitDelete, consumer, x.node, "")
			if odd() {
				add(&history.Session{Event: []history.SessionEvent{history.Killed, history.Lost}[r.IntN(2)], Client: consumer, Session: int64(100 + consumer), At: at})
			}
			switch r.IntN(30) {
			case 0: // dropped
				sample(history.Take, consumer, "", history.Unknown)
			case 1:
				sample(history.Take, consumer, x.item, history.Unknown)
			case 2:
				sample(history.Take, consumer, x.item, history.OK)
				sample(history.Take, 2+r.IntN(3), x.item, history.OK)
			default:
				sample(history.Take, consumer, x.item, history.OK)
			}
		}
	}
	for _, x := range line { // cleared away by nobody's session
		commit(history.CommitDelete, 800, x.node, "")
	}
	add(&history.CommitsEnd{Last: zxid})
	return history.Of(history.Header{Trial: "taken"}, records...)
}

func TestQueue_agreesWithTheVerdicts(t *testing.T) {
	rounds := 5000
	if testing.Short() {
		rounds = 1000
	}
	tally := map[string]map[string]int{}
	for seed := range rounds {
		h := taken(rand.New(rand.NewPCG(uint64(seed), 1)))
		verdicts := verdict.Judge(h)
		for _, v := range verdicts {
			if tally[v.Guarantee] == nil {
				tally[v.Guarantee] = map[string]int{}
			}
			tally[v.Guarantee][v.Result]++
		}
		if got := Queue(h, verdicts); got != nil {
			t.Fatalf("seed %d: %q, of %+v", seed, got[0].Reasons, verdicts)
		}
	}
	for _, name := range []string{verdict.NoLoss, verdict.NoDuplicate, verdict.NoPhantom, verdict.QueueFIFO} {
		if n := tally[name]; n[verdict.Pass] < rounds/20 || n[verdict.Fail] < rounds/50 {
			t.Errorf("the histories are too much alike: %s: %v", name, n)
		}
	}
}

// A verdict that says the contrary is found out, whichever it is.
func TestQueue_disagrees(t *testing.T) {
	found := map[string]bool{}
	for seed := range uint64(500) {
		h := taken(rand.New(rand.NewPCG(seed, 1)))
		verdicts := verdict.Judge(h)
		for i := range verdicts {
			v := &verdicts[i]
			was := v.Result
			switch v.Guarantee {
			case verdict.NoLoss, verdict.NoDuplicate, verdict.NoPhantom, verdict.QueueFIFO:
			default:
				continue
			}
			switch was {
			case verdict.Pass:
				v.Result = verdict.Fail
			case verdict.Fail:
				v.Result = verdict.Pass
			}
			if got := Queue(h, verdicts); was != v.Result {
				found[v.Guarantee+was] = true
				if len(got) != 1 || got[0].Guarantee != Disagreement || got[0].Result != verdict.Fail {
					t.Errorf("seed %d: %s is %s, and nothing contradicts %s", seed, v.Guarantee, was, v.Result)
				}
			}
			v.Result = was
		}
	}
	if len(found) != 8 {
		t.Errorf("tried are only %v", found)
	}
}
