package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

type throughput struct {
	noopCollector
	fold   *Fold
	done   map[string]int64
	byPath []int64 // if there are several paths
}

func (x *throughput) sample(s *history.Sample, p *history.Phase) {
	if countsForRate(s, p) {
		x.done[s.Phase]++
		if len(x.byPath) > 1 {
			x.byPath[x.fold.pathOf(s.Client)]++
		}
	}
}

func (x *throughput) close(out map[string]Metric) {
	var all int64
	var long time.Duration
	names := x.fold.phasesWithRate()
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
	if len(x.byPath) > 1 {
		least, most := slices.Min(x.byPath), slices.Max(x.byPath)
		m.Note = fmt.Sprintf("of %d paths, path %d had the fewest (%d) and path %d the most (%d)",
			len(x.byPath), slices.Index(x.byPath, least), least, slices.Index(x.byPath, most), most)
	}
	out[Throughput] = m
}

// failedOperations counts failed operations. Count is the number of all, and the note quotes the first error.
type failedOperations struct {
	noopCollector
	faults facts.Spans
	n, all int64
	first  string
}

func (x *failedOperations) sample(s *history.Sample, p *history.Phase) {
	operations := []string{history.Acquire, history.Release, history.Put, history.Take}
	if !slices.Contains(operations, s.Op) || !hasRate(p) { // other phases end sessions themselves
		return
	}
	x.all++
	canceled := s.Limit > 0 || s.Err == "" || strings.Contains(s.Err, "context canceled") || strings.Contains(s.Err, "context deadline exceeded")
	if s.Outcome == history.OK || canceled || x.faults.Touches(s.Call, s.Return) {
		return
	}
	x.n++
	if x.first == "" {
		x.first = fmt.Sprintf("client %d at %s: %s", s.Client, units.Moment(s.Return), units.Truncate(s.Err, 200))
	}
}

func (x *failedOperations) close(out map[string]Metric) {
	if x.all > 0 {
		out[OperationsFailed] = countedMetric(OperationsFailed, float64(x.n), x.all).noted(x.first)
	}
}

// minGrants is the minimum average number of grants per client for the fairness index.
const minGrants = 4

// fairness counts the grants of each client by the number of contenders: shares in phases with
// different numbers of contenders are not comparable. Of several paths, it is the mean of their indices.
type fairness struct {
	noopCollector
	fold   *Fold
	grants map[[2]int]map[int]int // by contenders and path; then by client
	total  map[int]int
}

func (x *fairness) sample(s *history.Sample, p *history.Phase) {
	if !countsForRate(s, p) {
		return
	}
	n := x.fold.contenders(p)
	at := [2]int{n, x.fold.pathOf(s.Client)}
	if x.grants[at] == nil {
		x.grants[at] = map[int]int{}
	}
	x.grants[at][s.Client]++
	x.total[n]++
}

func (x *fairness) close(out map[string]Metric) {
	most := 0 // the number of contenders with the most grants
	for n, grants := range x.total {
		if most == 0 || grants > x.total[most] || grants == x.total[most] && n > most {
			most = n
		}
	}
	sum, paths := 0.0, 0
	for path := range max(x.fold.history.Header.Paths, 1) {
		if v, ok := jain(x.grants[[2]int{most, path}], x.fold.history.Header.OnPath(path, most)); ok {
			sum, paths = sum+v, paths+1
		}
	}
	if paths > 0 {
		out[Fairness] = countedMetric(Fairness, sum/float64(paths), int64(most))
	}
}

// jain returns Jain's fairness index of the shares of n clients: the square of their sum, divided by n
// times the sum of their squares. It returns false if there are too few grants.
func jain(shares map[int]int, n int) (float64, bool) {
	var sum, squares float64
	for _, k := range shares {
		sum, squares = sum+float64(k), squares+float64(k)*float64(k)
	}
	if n < 2 || sum < float64(minGrants*n) {
		return 0, false
	}
	return sum * sum / (float64(n) * squares), true
}

// StarvationLimit is the limit of grants to others, per contender: a client that waits for longer starves. If
// each grant went to a random contender, one in 22,000 waits would be that long (e to the power of
// -10).
const StarvationLimit = 10

// recentGrants limits the number of stored grants: longer waits need not be counted exactly.
const recentGrants = 1 << 16

type overtaken struct {
	noopCollector
	fold       *Fold
	grants     map[int][]time.Duration // by path: return times of the last grants, in the order of the records
	faults     facts.Spans
	contenders int
	most       int
	starved    map[int]bool // clients that were passed over too often
}

func (x *overtaken) sample(s *history.Sample, p *history.Phase) {
	if s.Op != history.Acquire || !hasRate(p) || p.Kind == history.DrainPhase {
		return
	}
	path := x.fold.pathOf(s.Client)
	x.checkWait(s.Client, s.Call, p)
	if s.Outcome == history.OK {
		grants, kept := append(x.grants[path], s.Return), recentGrants/max(x.fold.history.Header.Paths, 1)
		if len(grants) >= 2*kept {
			grants = slices.Delete(grants, 0, len(grants)-kept)
		}
		x.grants[path] = grants
	}
}

// record counts the wait of a client that was not granted until its phase ended.
func (x *overtaken) record(r history.Record) {
	w, ok := r.(*history.Waiting)
	if !ok || w.Op != history.Acquire {
		return
	}
	if p := x.fold.phase(w.Phase); hasRate(p) && p.Kind != history.DrainPhase {
		x.checkWait(w.Client, w.Call, p)
	}
}

// checkWait counts the grants since an acquire was called. Grants are in order, except if they returned
// at almost the same time.
func (x *overtaken) checkWait(client int, call time.Duration, p *history.Phase) {
	path := x.fold.pathOf(client)
	grants, contenders := x.grants[path], x.fold.history.Header.OnPath(path, x.fold.contenders(p))
	x.contenders = max(x.contenders, contenders)
	i, _ := slices.BinarySearch(grants, call)
	passed := len(grants) - i
	if passed > 0 && x.faults.Touches(call, grants[len(grants)-1]) { // a fault may have delayed the acquire
		return
	}
	x.most = max(x.most, passed)
	if passed > StarvationLimit*contenders {
		x.starved[client] = true
	}
}

func (x *overtaken) close(out map[string]Metric) {
	if x.contenders < 2 || len(x.grants) == 0 {
		return
	}
	m := countedMetric(Overtaken, float64(x.most), int64(len(x.starved)))
	m.Expected = new(float64(StarvationLimit * x.contenders))
	out[Overtaken] = m
}

// HasOpenLoop reports whether operations were due at a rate, in an open loop: the throughput is then the
// arrival rate, and does not depend on the subject.
func HasOpenLoop(measured map[string]Metric) bool {
	return measured[QueueYield].Value != nil || measured[Unserved].Value != nil
}

// Ramp contains the results of a phase in which operations were due at an increasing rate.
type Ramp struct {
	Phase    string
	From, To float64     // the rates, per second
	Points   []RampPoint // by rate
	Capacity float64     // value of the metric capacity
	KeptUp   bool
	Beyond   float64 // operations done per second after the subject fell behind; 0 if it kept up
}

// RampPoint summarizes the operations that were due at about the same rate. The latency of an
// operation that was never done is the time until it was abandoned.
type RampPoint struct {
	Rate     float64 // operations per second
	Count    int
	P50, Max time.Duration // from due to done
}

type openLoops struct {
	noopCollector
	fold          *Fold
	due, unserved int64
	ramps         map[string][]scheduledOp // by phase
}

// scheduledOp is an operation: the time it was due, and the time it was done (ok) or abandoned.
type scheduledOp struct {
	due, done time.Duration
	ok        bool
}

func (x *openLoops) sample(s *history.Sample, p *history.Phase) {
	switch ok := s.Outcome == history.OK; {
	case p.Arrivals == nil:
	case s.Op == history.Acquire:
		x.due++
		if !ok {
			x.unserved++
		}
		x.add(p, scheduledOp{s.Due, s.Return, ok})
	case s.Op == history.Put && s.Outcome == history.Failed: // an item that was put is added when it is taken
		x.add(p, scheduledOp{s.Due, s.Return, false})
	}
}

func (x *openLoops) add(p *history.Phase, s scheduledOp) {
	if p.Ramp() {
		x.ramps[p.Name] = append(x.ramps[p.Name], s)
	}
}

func (x *openLoops) close(out map[string]Metric) {
	if x.due > 0 {
		out[Unserved] = countedMetric(Unserved, float64(x.unserved), x.due)
	}
	for i := range x.fold.history.Phases {
		p := &x.fold.history.Phases[i]
		if all := x.ramps[p.Name]; all != nil {
			done := foldRamp(all, p.Arrivals, x.fold.history.Header.Clients)
			x.fold.Ramps = append(x.fold.Ramps, done)
			m := done.metric(int64(len(all)))
			if len(x.ramps) > 1 {
				out[Capacity+"."+p.Name] = m
			}
			if last, some := out[Capacity]; !some || *m.Value < *last.Value {
				out[Capacity] = m
			}
		}
	}
}

func (r Ramp) metric(count int64) Metric {
	m := Metric{Unit: "1/s", Phase: r.Phase, Count: &count, Value: &r.Capacity}
	m.Note = fmt.Sprintf("after it fell behind, it completed %s per second", units.Number(r.Beyond))
	if r.KeptUp {
		m.Note = "it kept up to the end, so this is a lower bound"
	}
	return m
}

const (
	rampSteps    = 50 // number of points for a continuous ramp
	keptUpMargin = 0.1
	rampParts    = 1000 // of the ramp: resolution of the search for a rate, and the largest number of steps shown
)

// foldRamp computes the results of a ramp. The capacity follows from the last time at which no more
// operations waited than there are clients, see exceeded and beyond.
func foldRamp(all []scheduledOp, a *history.Arrivals, clients int) Ramp {
	slices.SortStableFunc(all, func(a, b scheduledOp) int { return cmp.Compare(a.due, b.due) })
	done := make([]time.Duration, len(all))
	for i, s := range all {
		done[i] = s.done
	}
	slices.Sort(done)
	point, completed := 0, 0
	for i, s := range all {
		for completed < len(done) && done[completed] <= s.due {
			completed++
		}
		if i+1-completed <= clients {
			point = i
		}
	}
	last := all[len(all)-1].due
	out := Ramp{Phase: a.Phase, From: a.Rate, To: a.RateTo, Points: rampPoints(all, a)}
	switch at := all[point].due; {
	case float64(last-at) <= keptUpMargin*float64(a.For):
		out.KeptUp, out.Capacity = true, a.RateAt(last-a.At)
	default:
		out.Beyond = completionRate(all, at)
		out.Capacity = max(exceededRate(a, at-a.At, clients), out.Beyond)
	}
	return out
}

// exceededRate returns the rate such that a subject with this capacity has n operations waiting at the
// time by: n more operations were due than it could do. It returns 0 if fewer than n were due beyond
// the initial rate: that rate was too high already, or all clients were stopped for a while.
func exceededRate(a *history.Arrivals, by time.Duration, n int) float64 {
	part := a.For / rampParts
	by = min(by, a.For)
	due := 0.0
	for since := by; since >= 0 && part > 0; since -= part {
		rate := a.RateAt(since)
		if due-rate*(by-since).Seconds() >= float64(n) {
			return rate
		}
		due += rate * part.Seconds()
	}
	return 0
}

func completionRate(all []scheduledOp, since time.Duration) float64 {
	n, until := 0, since
	for _, s := range all {
		if s.ok && s.done > since {
			n++
			until = max(until, s.done)
		}
	}
	if until == since {
		return 0
	}
	return float64(n) / (until - since).Seconds()
}

// rampPoints groups the operations, which are sorted by due time, by the rate at which they were due.
func rampPoints(all []scheduledOp, a *history.Arrivals) (out []RampPoint) {
	n := min(cmp.Or(a.Steps, rampSteps), rampParts)
	for i := range n {
		from, to := a.At+a.For*time.Duration(i)/time.Duration(n), a.At+a.For*time.Duration(i+1)/time.Duration(n)
		first := sort.Search(len(all), func(k int) bool { return all[k].due >= from })
		next := sort.Search(len(all), func(k int) bool { return all[k].due >= to })
		if first == next {
			continue
		}
		took := make([]time.Duration, 0, next-first)
		for _, s := range all[first:next] {
			took = append(took, s.done-s.due)
		}
		slices.Sort(took)
		out = append(out, RampPoint{Rate: a.RateAt((from+to)/2 - a.At), Count: len(took), P50: took[(len(took)-1)/2], Max: took[len(took)-1]})
	}
	return out
}
