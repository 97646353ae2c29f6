package metrics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

type throughput struct {
	ignored
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

// failed counts failed operations. Count is the number of all operations, and the note quotes the first
// error.
type failed struct {
	ignored
	faults facts.Spans
	n, all int64
	first  string
}

func (x *failed) sample(s *history.Sample, p *history.Phase) {
	operations := []string{history.Acquire, history.Release, history.Put, history.Take}
	if !slices.Contains(operations, s.Op) || !paced(p) { // other phases end sessions themselves
		return
	}
	x.all++
	canceled := s.Limit > 0 || s.Err == "" || strings.Contains(s.Err, "context canceled") || strings.Contains(s.Err, "context deadline exceeded")
	if s.Outcome == history.OK || canceled || x.faults.Touches(s.Call, s.Return) {
		return
	}
	x.n++
	if x.first == "" {
		x.first = fmt.Sprintf("client %d at %s: %s", s.Client, units.Moment(s.Return), units.Short(s.Err, 200))
	}
}

func (x *failed) close(out map[string]Metric) {
	if x.all > 0 {
		out[OperationsFailed] = of(OperationsFailed, float64(x.n), x.all).noted(x.first)
	}
}

// fewestGrants is the average number of grants per client that the fairness index needs.
const fewestGrants = 4

// fairness collects the grants by number of contenders and client: shares in phases with different
// contenders are not comparable.
type fairness struct {
	ignored
	fold   *Fold
	grants map[int]map[int]int
	total  map[int]int
}

func (x *fairness) sample(s *history.Sample, p *history.Phase) {
	if !counted(s, p) {
		return
	}
	n := x.fold.contenders(p)
	if x.grants[n] == nil {
		x.grants[n] = map[int]int{}
	}
	x.grants[n][s.Client]++
	x.total[n]++
}

func (x *fairness) close(out map[string]Metric) {
	most := 0 // the number of contenders with the most grants
	for n, grants := range x.total {
		if most == 0 || grants > x.total[most] || grants == x.total[most] && n > most {
			most = n
		}
	}
	if v, ok := jain(x.grants[most], most); ok {
		out[Fairness] = of(Fairness, v, int64(most))
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

// Starving is the limit of grants to others, per contender: a client that waits for longer starves. If
// each grant went to a random contender, one in 22,000 waits would be that long (e to the power of
// -10).
const Starving = 10

// recentGrants limits the number of stored grants: longer waits need not be counted exactly.
const recentGrants = 1 << 16

type overtaken struct {
	ignored
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
	n := x.fold.contenders(p)
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
		x.waited(w.Client, w.Call, x.fold.contenders(p))
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
	m := of(Overtaken, float64(x.most), int64(len(x.starved)))
	m.Expected = new(float64(Starving * x.contenders))
	out[Overtaken] = m
}
