package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Overtaken names how often the client that was passed over most often was passed over.
const Overtaken = "overtaken.max"

// Starving is the number of grants to others, for each contender, from which on a waiting client
// starves: if each grant went to a random contender, a wait would last as long once in 22,000 times
// (e to the power of -10).
const Starving = 10

func init() {
	register(Family{
		Order: 53,
		Definitions: []Definition{
			{Name: Overtaken, Unit: "1", Better: Lower,
				Help: "Largest number of grants to other clients while one client waited, in phases in which clients set the pace, with no fault active; expected: the starvation limit, 10 per contender"},
		},
		collect: func(f *Fold) collector {
			x := &overtaken{fold: f, faults: verdict.FaultWindows(f.history, verdict.MaxDetection(f.history)), starved: map[int]bool{}}
			return collector{sample: x.sample, record: x.record, close: x.close}
		},
	})
}

// recentGrants bounds the stored grants: longer waits need not be counted.
const recentGrants = 1 << 16

type overtaken struct {
	fold       *Fold
	grants     []time.Duration // returns of the last recentGrants to twice as many grants, in the order of the records
	faults     verdict.Spans
	contenders int
	most       int
	starved    map[int]bool // clients that were passed over too often
}

func (x *overtaken) sample(s *history.Sample, p *history.Phase) {
	if s.Op != history.Acquire || !paced(p) || p.Kind == history.DrainPhase {
		return
	}
	n := cmp.Or(p.Contenders, x.fold.history.Header.Clients)
	x.contenders = max(x.contenders, n)
	x.waited(s.Client, s.Call, n)
	if s.Outcome == history.OK {
		if x.grants = append(x.grants, s.Return); len(x.grants) == 2*recentGrants {
			x.grants = slices.Delete(x.grants, 0, recentGrants)
		}
	}
}

// record counts the wait of a client that was not granted until its phase ended.
func (x *overtaken) record(r history.Record) {
	w, ok := r.(*history.Waiting)
	if !ok || w.Op != history.Acquire {
		return
	}
	if p := x.fold.phase(w.Phase); paced(p) && p.Kind != history.DrainPhase {
		x.waited(w.Client, w.Call, cmp.Or(p.Contenders, x.fold.history.Header.Clients))
	}
}

// waited counts the grants since an acquire was called. They are in order, except grants that
// returned at almost the same time.
func (x *overtaken) waited(client int, call time.Duration, contenders int) {
	i, _ := slices.BinarySearch(x.grants, call)
	passed := len(x.grants) - i
	if passed > 0 && x.faults.Touches(call, x.grants[len(x.grants)-1]) { // a fault may have delayed it
		return
	}
	x.most = max(x.most, passed)
	if passed > Starving*contenders {
		x.starved[client] = true
	}
}

func (x *overtaken) close(out map[string]Metric) {
	if x.contenders < 2 || len(x.grants) == 0 {
		return
	}
	out[Overtaken] = Metric{Unit: "1", Value: new(float64(x.most)), Expected: new(float64(Starving * x.contenders)), Count: new(int64(len(x.starved)))}
}
