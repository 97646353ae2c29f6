package second

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// firstSession is the session of client 0, and cleaner one of no client.
const firstSession, cleaner = 100, 800

// taken makes a history of a queue with two producers and three consumers, in which
// now and then something goes wrong: a reply that is lost, an item that is put twice,
// delivered twice, dropped, taken out of turn or never put.
func taken(r *rand.Rand) *history.History {
	var records []history.Record
	add := func(x history.Record) { records = append(records, x) }
	for c := range 5 {
		add(&history.Session{Event: history.Opened, Client: c, Session: firstSession + int64(c), Timeout: 4 * time.Second})
	}
	zxid := int64(0)
	commit := func(op string, session int, path, item string) *history.Commit {
		zxid++
		c := &history.Commit{Zxid: zxid, Op: op, Session: int64(session), Cxid: int32(zxid), Path: path, Item: item}
		add(c)
		return c
	}
	at := time.Millisecond
	sample := func(op string, client int, item string, o history.Outcome) {
		at += time.Millisecond
		add(&history.Sample{Client: client, Op: op, Item: item, Outcome: o, Call: at, Return: at, Zxid: zxid})
	}
	var line []*history.Commit // that created the nodes that exist
	odd := func() bool { return r.IntN(40) == 0 }
	for i := range 4 + r.IntN(12) {
		item, producer := fmt.Sprint("i", i), r.IntN(2)
		for range 1 + min(1, r.IntN(40)/39) { // hardly ever twice
			if !odd() { // else it is put, and never in the queue
				line = append(line, commit(history.CommitCreate, firstSession+producer, fmt.Sprint("/q/qn-", zxid+1), item))
			}
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
				sample(history.Take, consumer, x.Item, history.OK)
				commit(history.CommitDelete, firstSession+consumer, x.Path, "")
				continue
			}
			commit(history.CommitDelete, firstSession+consumer, x.Path, "")
			if odd() {
				ended := []history.SessionEvent{history.Killed, history.Lost}[r.IntN(2)]
				add(&history.Session{Event: ended, Client: consumer, Session: firstSession + int64(consumer), At: at})
			}
			switch r.IntN(30) {
			case 0: // dropped
				sample(history.Take, consumer, "", history.Unknown)
			case 1:
				sample(history.Take, consumer, x.Item, history.Unknown)
			case 2:
				sample(history.Take, consumer, x.Item, history.OK)
				sample(history.Take, 2+r.IntN(3), x.Item, history.OK)
			default:
				sample(history.Take, consumer, x.Item, history.OK)
			}
		}
	}
	for _, x := range line {
		commit(history.CommitDelete, cleaner, x.Path, "")
	}
	add(&history.CommitsEnd{Last: zxid})
	return history.Of(history.Header{Trial: "taken"}, records...)
}

// itemHistory is what a history shows of one item.
type itemHistory struct {
	puts, takes []*history.Sample
	made, gone  []*history.Commit // its nodes
	elders      []*itemHistory    // those whose first nodes existed when its own was removed
}

// put reports whether the item was put, or may have been.
func (x *itemHistory) put() bool {
	return slices.ContainsFunc(x.puts, func(s *history.Sample) bool { return s.Outcome != history.Failed })
}

// replay plays a history of taken on a simple model of a queue, and returns which guarantees it breaks;
// nil where no item that was put was found in a node.
func replay(h *history.History) map[string]bool {
	items, nodes := map[string]*itemHistory{}, map[string]*itemHistory{} // by ID and by path
	// The items whose first nodes exist, in the order of their creation.
	var line []*itemHistory
	// By client: the last zxid that it saw, and the end of its session.
	knew, ended := map[int]int64{}, map[int]bool{}
	of := func(id string) *itemHistory {
		if items[id] == nil {
			items[id] = &itemHistory{}
		}
		return items[id]
	}
	for n := range h.Records {
		switch r := n.Record.(type) {
		case *history.Session:
			ended[r.Client] = r.Event != history.Opened
		case *history.Sample:
			if !ended[r.Client] {
				knew[r.Client] = max(knew[r.Client], r.Zxid)
			}
			if x := of(r.Item); r.Op == history.Put {
				x.puts = append(x.puts, r)
			} else {
				x.takes = append(x.takes, r)
			}
		case *history.Commit:
			switch x := nodes[r.Path]; {
			case r.Op == history.CommitCreate:
				x = of(r.Item)
				nodes[r.Path] = x
				if x.made = append(x.made, r); len(x.made) == 1 {
					line = append(line, x)
				}
			case r.Session != cleaner:
				x.gone = append(x.gone, r)
				if r.Path == x.made[0].Path {
					at := slices.Index(line, x)
					x.elders = slices.Clone(line[:at])
					line = slices.Delete(line, at, at+1)
				}
			}
		}
	}
	delete(items, "") // dropped ones
	broken, linked := map[string]bool{}, false
	for _, x := range items {
		linked = linked || x.put() && len(x.made) > 0
		delivered := slices.DeleteFunc(slices.Clone(x.takes), func(s *history.Sample) bool { return s.Outcome != history.OK })
		for name, is := range map[string]bool{
			verdict.NoLoss:      x.put() && len(x.takes) == 0 && x.vanished(knew, ended),
			verdict.NoDuplicate: len(delivered) > 1 || len(x.made) > 1 && x.put(),
			verdict.NoPhantom:   len(delivered) > 0 && len(x.puts) > 0 && !x.put(),
			verdict.QueueFIFO: slices.ContainsFunc(delivered, func(s *history.Sample) bool {
				// A client that received it before the removal had claimed it.
				return len(x.gone) > 0 && s.Client == client(x.gone[0]) && s.Zxid >= x.gone[0].Zxid
			}) && slices.ContainsFunc(x.elders, (*itemHistory).put),
		} {
			broken[name] = broken[name] || is
		}
	}
	if !linked {
		return nil
	}
	return broken
}

func client(c *history.Commit) int { return int(c.Session - firstSession) }

// vanished reports whether an item that no take returned is not in the queue, and no session whose end
// kept the reply of the removal from its client explains that.
func (x *itemHistory) vanished(knew map[int]int64, ended map[int]bool) bool {
	if len(x.made) == 0 { // a put without a reply may not have been carried out
		return slices.ContainsFunc(x.puts, func(s *history.Sample) bool { return s.Outcome == history.OK })
	}
	if len(x.gone) < len(x.made) {
		return false
	}
	last := x.gone[len(x.gone)-1]
	return !ended[client(last)] || knew[client(last)] >= last.Zxid
}

func TestQueue_agreesWithTheVerdicts(t *testing.T) {
	rounds := 5000
	if testing.Short() {
		rounds = 1000
	}
	tally := map[string]map[string]int{}
	for _, name := range []string{verdict.NoLoss, verdict.NoDuplicate, verdict.NoPhantom, verdict.QueueFIFO} {
		tally[name] = map[string]int{}
	}
	for seed := range rounds {
		h := taken(rand.New(rand.NewPCG(uint64(seed), 1)))
		broken := replay(h)
		for _, v := range verdict.Judge(h) {
			if tally[v.Guarantee] == nil {
				continue
			}
			tally[v.Guarantee][v.Result]++
			certain := v.Result == verdict.Pass || v.Result == verdict.Fail
			if broken != nil && certain && broken[v.Guarantee] != (v.Result == verdict.Fail) {
				t.Fatalf("seed %d: %+v, but a replay of the commits says that it is broken: %v", seed, v, broken[v.Guarantee])
			}
		}
	}
	for name, n := range tally {
		if n[verdict.Pass] < rounds/20 || n[verdict.Fail] < rounds/50 {
			t.Errorf("the histories are too much alike: %s: %v", name, n)
		}
	}
}
