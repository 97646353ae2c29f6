package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Throughput names the rate of grants, or of items taken.
const Throughput = "throughput"

func init() {
	register(Family{
		Order: 50, About: "Rates, in phases whose pace is set by the clients or by an arrival rate:",
		Definitions: []Definition{
			{Name: Throughput, Unit: "1/s", Better: Higher, PerPhase: true, Shown: []string{"value"}, Main: "value", Decides: true,
				Help: "Grants, or items taken, per second; excludes drains and ramps"},
		},
		collect: func(f *Fold) collector {
			x := &throughput{fold: f, done: map[string]int64{}}
			return collector{sample: x.sample, close: x.close}
		},
	})
}

type throughput struct {
	fold *Fold
	done map[string]int64
}

func (x *throughput) sample(s *history.Sample, p *history.Phase) {
	if counted(s, p) {
		x.done[s.Phase]++
	}
}

func (x *throughput) close(out map[string]Metric) {
	var all int64
	var long time.Duration
	names := x.fold.rated()
	for _, name := range names {
		p := x.fold.phase(name) // a history without phases counts as one phase
		n, took := x.done[name], x.fold.endOf(p)-p.Start
		if took <= 0 {
			continue
		}
		all, long = all+n, long+took
		if p != &noPhase && len(names) > 1 {
			out[Throughput+"."+name] = Metric{Unit: "1/s", Phase: name, Count: &n, Value: new(float64(n) / took.Seconds())}
		}
	}
	if long <= 0 {
		return
	}
	m := Metric{Unit: "1/s", Value: new(float64(all) / long.Seconds()), Count: &all}
	if len(names) == 1 {
		m.Phase = names[0]
	}
	out[Throughput] = m
}

// OperationsFailed names the number of operations that failed with no fault active.
const OperationsFailed = "operations.failed"

func init() {
	register(Family{
		Order: 54,
		Definitions: []Definition{
			{Name: OperationsFailed, Unit: "1", Better: Lower,
				Help: "Acquires, releases, puts and takes that returned an error with no fault active or recently healed, in phases whose pace is set by the clients; excludes operations that zkbench canceled and acquires with a time limit"},
		},
		collect: collectFailed,
	})
}

// collectFailed counts failed operations. Count is the number of all operations, and the note quotes
// the first error.
func collectFailed(f *Fold) collector {
	var failed, all int64
	first := ""
	faults := facts.FaultWindows(f.history, facts.MaxDetection(f.history))
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			switch s.Op {
			case history.Acquire, history.Release, history.Put, history.Take:
			default:
				return
			}
			if !paced(p) { // the phase itself ends sessions
				return
			}
			all++
			canceled := s.Limit > 0 || s.Err == "" || strings.Contains(s.Err, "context canceled") || strings.Contains(s.Err, "context deadline exceeded")
			if s.Outcome == history.OK || canceled || faults.Touches(s.Call, s.Return) {
				return
			}
			failed++
			if first == "" {
				first = fmt.Sprintf("client %d at %s: %s", s.Client, units.Moment(s.Return), units.Short(s.Err, 200))
			}
		},
		close: func(out map[string]Metric) {
			if all > 0 {
				out[OperationsFailed] = Metric{Unit: "1", Value: new(float64(failed)), Count: &all, Note: first}
			}
		},
	}
}

// Fairness names Jain's index of the clients' grants.
const Fairness = "fairness"

func init() {
	register(Family{
		Order: 52,
		Definitions: []Definition{
			{Name: Fairness, Unit: "1", Better: Higher,
				Help: "Jain's fairness index of the contenders' grants: 1 if all N contenders had equally many, 1/N if one contender had all"},
		},
		collect: collectFairness,
	})
}

// fewestGrants is the average number of grants per client that the fairness index needs.
const fewestGrants = 4

func collectFairness(f *Fold) collector {
	// By number of contenders and client: shares in phases with different contenders are not comparable.
	grants := map[int]map[int]int{}
	total := map[int]int{}
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			if !counted(s, p) {
				return
			}
			n := cmp.Or(p.Contenders, f.history.Header.Clients)
			if grants[n] == nil {
				grants[n] = map[int]int{}
			}
			grants[n][s.Client]++
			total[n]++
		},
		close: func(out map[string]Metric) {
			most := 0 // the number of contenders with the most grants
			for n := range total {
				if most == 0 || total[n] > total[most] || total[n] == total[most] && n > most {
					most = n
				}
			}
			if v, ok := jain(grants[most], most); ok {
				out[Fairness] = Metric{Unit: "1", Value: &v, Count: new(int64(most))}
			}
		},
	}
}

// jain returns Jain's fairness index of the shares of n clients: the square of their sum, divided by n
// times the sum of their squares. It returns false if there are too few grants.
func jain(shares map[int]int, n int) (float64, bool) {
	var sum, squares float64
	for _, k := range shares {
		sum, squares = sum+float64(k), squares+float64(k)*float64(k)
	}
	if n < 2 || sum < float64(fewestGrants*n) {
		return 0, false
	}
	return sum * sum / (float64(n) * squares), true
}

// Overtaken names the largest number of grants to other clients while one client waited.
const Overtaken = "overtaken.max"

// Starving is the limit of grants to others, per contender: a client that waits for longer starves. If
// each grant went to a random contender, one in 22,000 waits would be that long (e to the power of
// -10).
const Starving = 10

func init() {
	register(Family{
		Order: 53,
		Definitions: []Definition{
			{Name: Overtaken, Unit: "1", Better: Lower,
				Help: "Largest number of grants to other clients while one client waited, in phases whose pace is set by the clients, with no fault active; expected: the starvation limit, 10 per contender"},
		},
		collect: func(f *Fold) collector {
			x := &overtaken{fold: f, faults: facts.FaultWindows(f.history, facts.MaxDetection(f.history)), starved: map[int]bool{}}
			return collector{sample: x.sample, record: x.record, close: x.close}
		},
	})
}

// recentGrants limits the number of stored grants: longer waits need not be counted exactly.
const recentGrants = 1 << 16

type overtaken struct {
	fold       *Fold
	grants     []time.Duration // return times of the last grants, in the order of the records
	faults     facts.Spans
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

// waited counts the grants since an acquire was called. Grants are in order, except if they returned
// at almost the same time.
func (x *overtaken) waited(client int, call time.Duration, contenders int) {
	i, _ := slices.BinarySearch(x.grants, call)
	passed := len(x.grants) - i
	if passed > 0 && x.faults.Touches(call, x.grants[len(x.grants)-1]) { // a fault may have delayed the acquire
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
