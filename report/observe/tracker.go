// Package observe reconstructs, from the creations and deletions of znodes, the holders of the locks of
// a live system: of the sequential ephemeral nodes below one parent, the one with the lowest number is
// first in line, and in the documented recipes its client holds the lock.
//
//	t := observe.NewTracker("/locks", observe.Limits{MaxHold: time.Minute})
//	t.Create("/locks/a/x-0000000001", 0x17, at)
//	t.Delete("/locks/a/x-0000000001", observe.Released, 0x17, at.Add(time.Second))
//	o := t.Done(at.Add(time.Minute)) // one hold of 1 s
//
// All times are from the clock of the ensemble's leader, in whole milliseconds. The time for which a client
// believes that it holds may be shorter or longer than the time for which its node is first in line.
package observe

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// End is the cause of a node's removal.
type End string

// The ways in which a node is removed.
const (
	Released     End = "released"                   // its session deleted it
	Closed       End = "session closed"             // its client closed the session
	Expired      End = "session expired"            // the servers ended the session
	Foreign      End = "deleted by another session" // another session deleted it
	UnknownCause End = "removed, cause unknown"     // the cause is unknown
	StillPresent End = "still present"              // it existed at the end of the observation
)

// Limits are the thresholds of an observation. Zero values are not checked, except MaxExpired.
type Limits struct {
	MaxHold, MaxWait, MaxVacant time.Duration
	MaxContenders               int
	MaxExpired                  int // largest number of expiries while first in line; -1 for no limit
}

// Hold is a time for which a node was first in line.
type Hold struct {
	Node    string    `json:"node"`
	Session string    `json:"session"` // hexadecimal
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	End     End       `json:"end"`
	Waiters int       `json:"waiters"` // at the end of the hold
}

// DurationSummary summarizes durations, in nanoseconds.
type DurationSummary struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"` // 0 for fewer than 100 values
	Max   time.Duration `json:"max_ns"`
}

// ParentStats describes the nodes below one parent.
type ParentStats struct {
	Parent    string          `json:"parent"`
	Kinds     []string        `json:"kinds"` // the distinct names without number and identifiers, at most 8
	Nodes     int             `json:"nodes"` // created during the observation, or present at its beginning
	Held      DurationSummary `json:"held"`
	Waited    DurationSummary `json:"waited"` // from creation to first in line; 0 for a node that found no other
	Handoff   int             `json:"handoffs"`
	Left      int             `json:"left"`      // nodes removed before they were first
	Ends      map[End]int     `json:"ends"`      // of holds
	Vacant    DurationSummary `json:"vacant"`    // times without any node, between holds
	Most      int             `json:"most"`      // largest number of nodes at a time
	Average   float64         `json:"average"`   // number of nodes, over time
	Remaining []string        `json:"remaining"` // nodes at the end, first in line first
	// Contenders is the largest number of nodes in each time step, from the line's first node on.
	Contenders []int         `json:"contenders"`
	Step       time.Duration `json:"contenders_step_ns"`
	// Upper limits on notifications, if contenders watch the parent, or if each watches the node before its own.
	ParentWatch      int64  `json:"notifications_parent_watch"`
	PredecessorWatch int64  `json:"notifications_predecessor_watch"`
	Holds            []Hold `json:"holds"`         // the last holds: at most HoldsKept, fewer if there are many lines
	Dropped          int    `json:"holds_dropped"` // number of earlier holds, which only the counts include
}

// Limits of an Observation, which bound its memory.
const (
	LinesKept     = 2000   // parents
	HoldsKept     = 20_000 // holds that a Line lists
	anomaliesKept = 20     // anomalies of one kind in one line
	stepsKept     = 1000   // time steps in which a line counts its nodes
)

// longHold is the shortest hold at the end of the observation that is an anomaly, if a client waits.
const longHold = 30 * time.Second

// Anomaly is an event or a state that an operator should investigate.
type Anomaly struct {
	At     time.Time `json:"at"`
	Parent string    `json:"parent"`
	Text   string    `json:"text"`
	Limit  bool      `json:"limit"` // one of the Limits is exceeded
}

// Observation is the result of a [Tracker]: the lines below a path, and their anomalies.
type Observation struct {
	Path              string        `json:"path"`
	From              time.Time     `json:"from"`
	To                time.Time     `json:"to"`
	Lines             []ParentStats `json:"lines"` // ordered by number of holds, the most first
	Anomalies         []Anomaly     `json:"anomalies"`
	Omitted           int           `json:"anomalies_omitted"`
	Expired           int           `json:"sessions_expired"` // in the whole ensemble, including sessions that held nothing
	Closed            int           `json:"sessions_closed"`
	IncompleteReasons []string      `json:"unknown"` // why the observation is incomplete; empty if it is complete
	Source            string        `json:"source"`  // the files or servers, in a sentence
}

// Exceeds reports whether a limit was exceeded.
func (o *Observation) Exceeds() bool {
	return slices.ContainsFunc(o.Anomalies, func(a Anomaly) bool { return a.Limit })
}

// Tracker builds an Observation from events in the order in which they happened.
type Tracker struct {
	under   string // the prefix of observed nodes
	limits  Limits
	lines   map[string]*line
	o       Observation
	started bool
	skipped int // nodes of parents beyond LinesKept
}

// NewTracker returns a Tracker of the parents at and below a path.
func NewTracker(path string, l Limits) *Tracker {
	path = "/" + strings.Trim(path, "/")
	return &Tracker{under: strings.TrimSuffix(path, "/") + "/", limits: l, lines: map[string]*line{}, o: Observation{Path: path}}
}

type node struct {
	name    string
	number  int32
	session int64
	at      time.Time
	first   time.Time // the time at which it became first in line; zero before
}

// compareNodes orders nodes by number. The lowest number follows the highest, as the counter overflows.
func compareNodes(a, b *node) int {
	return cmp.Or(int(a.number-b.number), strings.Compare(a.name, b.name))
}

type line struct {
	ParentStats
	present              []*node // in order
	first                *node
	held, waited, vacant durations
	vacantSince          time.Time // zero while there is a node
	removed              bool      // the parent has been removed
	changedAt            time.Time
	nodeSeconds          float64 // number of nodes times seconds
	begunAt              time.Time
	anomalyCounts        map[string]int // anomalies by kind
}

// randomID matches a name that ends in a UUID, or in a hexadecimal word of a length that IDs have.
var randomID = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$|(^|[^0-9a-zA-Z])([0-9a-fA-F]{8}){2,5}$`)

// Sequential splits the name of a sequential node before its counter: ten digits, or a negative number after an
// overflow. ok is false for other names, such as UUIDs. Ten digits that begin with 1 are a time stamp in seconds.
// Of more digits, as a time stamp in milliseconds has, the last ten are a counter if it is below ten million.
func Sequential(name string) (prefix string, number int32, ok bool) {
	i := len(strings.TrimRight(name, "0123456789"))
	n := len(name) - i
	separated := func(i int) bool { return i == 0 || strings.IndexByte("-_.:", name[i-1]) >= 0 }
	switch {
	case (n == 9 || n == 10 && name[i] != '0') && i > 0 && name[i-1] == '-' && separated(i-1):
		i--
	case n == 10 && (name[i] == '0' || name[i] == '2' && separated(i)):
	case n > 10 && strings.HasPrefix(name[len(name)-10:], "000"):
		i = len(name) - 10
	default:
		return "", 0, false
	}
	mayBeID := i > 0 && strings.IndexByte("0123456789abcdefABCDEF", name[i-1]) >= 0
	v, err := strconv.ParseInt(name[i:], 10, 32)
	return name[:i], int32(v), err == nil && !(mayBeID && randomID.MatchString(name))
}

// identifiers are the parts of a name that differ by client: UUIDs and session IDs.
var identifiers = regexp.MustCompile(`[0-9a-fA-F-]{8,}`)

func (t *Tracker) lineOf(path string) (*line, string, bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || !strings.HasPrefix(path, t.under) {
		return nil, "", false
	}
	return t.lines[path[:i]], path[i+1:], true
}

// Start sets the beginning of the observation. Without it, the first event is the beginning.
func (t *Tracker) Start(at time.Time) {
	if !t.started {
		t.o.From, t.o.To, t.started = at, at, true
	}
}

// Create adds a sequential ephemeral node that was created at the given time. It ignores other names.
func (t *Tracker) Create(path string, session int64, at time.Time) { t.Existing(path, session, at, at) }

// Existing adds a node created before the observation began. Its hold counts from at at the earliest.
func (t *Tracker) Existing(path string, session int64, created, at time.Time) {
	l, name, below := t.lineOf(path)
	if !below {
		return
	}
	prefix, number, ok := Sequential(name)
	if !ok {
		return
	}
	t.Start(at)
	if l == nil && len(t.lines) == LinesKept {
		t.skipped++
		return
	}
	if l == nil {
		l = newLine(strings.TrimSuffix(path, "/"+name), at)
		t.lines[l.Parent] = l
	}
	n := &node{name: name, number: number, session: session, at: created}
	i, found := slices.BinarySearchFunc(l.present, n, compareNodes)
	if found {
		return // a snapshot has it already
	}
	if len(l.Kinds) < 8 && (l.Nodes < 500 || l.Nodes%64 == 0) {
		if kind := identifiers.ReplaceAllString(prefix, ""); !slices.Contains(l.Kinds, kind) {
			l.Kinds = append(l.Kinds, kind)
		}
	}
	l.accumulate(at)
	l.present = slices.Insert(l.present, i, n)
	l.Nodes++
	l.Most = max(l.Most, len(l.present))
	l.ParentWatch += int64(max(0, len(l.present)-2)) // the first in line and the new one do not wait yet
	if l.first == nil {
		n.at = at // of an existing node, the wait is unknown
		t.advance(l, at)
	}
	if m := t.limits.MaxContenders; m > 0 && len(l.present) == m+1 {
		t.report(l, at, "contenders", true, "more than %d nodes in line", m)
	}
}

func newLine(parent string, at time.Time) *line {
	const day, digits = 24 * 3600 * 1000, 2
	d := func() durations { return durations{h: hdrhistogram.New(1, 100*day, digits)} }
	return &line{
		ParentStats: ParentStats{Parent: parent, Ends: map[End]int{}, Step: 100 * time.Millisecond}, anomalyCounts: map[string]int{},
		held: d(), waited: d(), vacant: d(), changedAt: at, begunAt: at,
	}
}

// count records the number of nodes in each time step from the last change until the given time.
func (l *line) count(until time.Time) {
	step := func(t time.Time) int { return int(max(0, t.Sub(l.begunAt)) / l.Step) }
	for step(until) >= stepsKept { // merge pairs of steps
		l.Step *= 2
		for i := range (len(l.Contenders) + 1) / 2 {
			l.Contenders[i] = slices.Max(l.Contenders[2*i : min(2*i+2, len(l.Contenders))])
		}
		l.Contenders = l.Contenders[:(len(l.Contenders)+1)/2]
	}
	if until.After(l.changedAt) {
		until = until.Add(-1)
	}
	for i := step(l.changedAt); i <= step(until); i++ {
		if i == len(l.Contenders) {
			l.Contenders = append(l.Contenders, 0)
		}
		l.Contenders[i] = max(l.Contenders[i], len(l.present))
	}
}

func (l *line) accumulate(at time.Time) {
	l.count(at)
	if d := at.Sub(l.changedAt); d > 0 {
		l.nodeSeconds += d.Seconds() * float64(len(l.present))
		l.changedAt = at
	}
}

// Delete removes a node, which may be a parent. by is the session that removed it; it is only used for Released and Foreign.
func (t *Tracker) Delete(path string, how End, by int64, at time.Time) {
	if parent := t.lines[path]; parent != nil {
		parent.removed = true
	}
	l, name, _ := t.lineOf(path)
	if l == nil {
		return
	}
	_, number, _ := Sequential(name)
	i, found := slices.BinarySearchFunc(l.present, &node{name: name, number: number}, compareNodes)
	if !found {
		return
	}
	n := l.present[i]
	if how == Released && by != n.session {
		how = Foreign
		place := map[bool]string{true: "was first in line", false: "waited"}[n == l.first]
		t.report(l, at, "foreign", false, "session %s deleted %s, which belongs to session %s and %s", hex(by), n.name, hex(n.session), place)
	}
	l.accumulate(at)
	if i == 0 {
		l.present = l.present[1:] // does not move the others
	} else {
		l.present = slices.Delete(l.present, i, i+1)
	}
	l.ParentWatch += int64(max(0, len(l.present)-1))
	if n != l.first {
		l.Left++
		l.PredecessorWatch++ // the one behind it, except for the last
		return
	}
	t.end(l, n, how, at)
	t.advance(l, at)
}

func (t *Tracker) end(l *line, n *node, how End, at time.Time) {
	held := at.Sub(n.first)
	if held < 0 {
		t.report(l, at, "clock", false, "%s was removed %v before it became first in line, by the clocks: one was set back, or they differ; the hold counts as 0 s", n.name, -held)
	}
	l.held.add(held)
	l.Ends[how]++
	l.Holds = append(l.Holds, Hold{Node: n.name, Session: hex(n.session), From: n.first, To: at, End: how, Waiters: len(l.present)})
	// With many lines, each keeps fewer.
	if keep := min(HoldsKept, max(500, 200_000/len(t.lines))); len(l.Holds) >= 2*keep {
		l.Dropped += len(l.Holds) - keep
		l.Holds = slices.Clone(l.Holds[len(l.Holds)-keep:])
	}
	l.first = nil
	if how == Expired {
		t.report(l, at, "expired", t.limits.MaxExpired >= 0 && l.Ends[Expired] > t.limits.MaxExpired,
			"session %s expired after its node %s had been first in line for %v, while %d others waited", hex(n.session), n.name, held, len(l.present))
	}
	t.checkHold(l, n, at)
}

func (t *Tracker) checkHold(l *line, n *node, at time.Time) {
	if held := at.Sub(n.first); t.limits.MaxHold > 0 && held > t.limits.MaxHold {
		t.report(l, n.first, "hold", true, "%s (session %s) was first in line for %v, longer than the limit of %v", n.name, hex(n.session), held, t.limits.MaxHold)
	}
}

func (t *Tracker) advance(l *line, at time.Time) {
	if len(l.present) == 0 {
		l.vacantSince = at
		return
	}
	n := l.present[0]
	n.first, l.first = at, n
	if !l.vacantSince.IsZero() {
		l.vacant.add(at.Sub(l.vacantSince))
		t.checkVacant(l, at)
		l.vacantSince, l.removed = time.Time{}, false
	} else if n.at.Before(at) {
		l.Handoff++
		l.PredecessorWatch++
	}
	wait := at.Sub(n.at)
	l.waited.add(wait)
	if m := t.limits.MaxWait; m > 0 && wait > m {
		t.report(l, at, "wait", true, "%s (session %s) waited for %v, longer than the limit of %v", n.name, hex(n.session), wait, m)
	}
}

func (t *Tracker) checkVacant(l *line, until time.Time) {
	if vacant, m := until.Sub(l.vacantSince), t.limits.MaxVacant; m > 0 && vacant > m {
		t.report(l, l.vacantSince, "vacant", true, "no node was in line for %v, longer than the limit of %v", vacant, m)
	}
}

func (t *Tracker) report(l *line, at time.Time, kind string, limit bool, format string, args ...any) {
	l.anomalyCounts[kind]++
	if l.anomalyCounts[kind] > anomaliesKept {
		t.o.Omitted++
		return
	}
	t.o.Anomalies = append(t.o.Anomalies, Anomaly{At: at, Parent: l.Parent, Text: fmt.Sprintf(format, args...), Limit: limit})
}

// SessionEnded counts the end of a session.
func (t *Tracker) SessionEnded(how End) {
	if how == Expired {
		t.o.Expired++
	} else {
		t.o.Closed++
	}
}

// AddIncompleteReason adds a reason why the observation is incomplete.
func (t *Tracker) AddIncompleteReason(format string, args ...any) {
	t.o.IncompleteReasons = append(t.o.IncompleteReasons, fmt.Sprintf(format, args...))
}

// Done ends the observation. source names the files or servers.
func (t *Tracker) Done(to time.Time, source string) *Observation {
	if to.Before(t.o.From) {
		to = t.o.From
	}
	t.o.To, t.o.Source = to, source
	if t.skipped > 0 {
		t.AddIncompleteReason("%d nodes were ignored, because at most %d parents can be observed; choose a more specific --path", t.skipped, LinesKept)
	}
	for _, l := range t.lines {
		l.accumulate(to)
		if n := l.first; n != nil {
			held := to.Sub(n.first)
			t.checkHold(l, n, to)
			usual := l.held.quantile(99)
			if waiters := len(l.present) - 1; waiters > 0 && held > max(longHold, 10*usual) {
				t.report(l, n.first, "stands", false, "%s (session %s) was still first in line at the end of the observation, after %v, with %d waiting", n.name, hex(n.session), held, waiters)
			}
			l.Holds = append(l.Holds, Hold{Node: n.name, Session: hex(n.session), From: n.first, To: to, End: StillPresent, Waiters: len(l.present) - 1})
			l.Ends[StillPresent]++
		}
		if l.first == nil && !l.removed {
			t.checkVacant(l, to)
		}
		if n := len(l.present); n >= 10 && float64(n) > 2*l.nodeSeconds/max(1e-9, to.Sub(l.begunAt).Seconds()) {
			t.report(l, to, "grew", false, "%d nodes were in line at the end, more than twice the average", n)
		}
		t.o.Lines = append(t.o.Lines, l.done(to))
	}
	slices.SortFunc(t.o.Lines, func(a, b ParentStats) int {
		return cmp.Or(cmp.Compare(b.Held.Count, a.Held.Count), strings.Compare(a.Parent, b.Parent))
	})
	slices.SortStableFunc(t.o.Anomalies, func(a, b Anomaly) int {
		order := map[bool]int{false: 1} // exceeded limits first
		return cmp.Or(order[a.Limit]-order[b.Limit], a.At.Compare(b.At))
	})
	return &t.o
}

func (l *line) done(to time.Time) ParentStats {
	if over := len(l.Holds) - HoldsKept; over > 0 {
		l.Dropped += over
		l.Holds = l.Holds[over:]
	}
	l.Held, l.Waited, l.Vacant = l.held.spread(), l.waited.spread(), l.vacant.spread()
	if d := to.Sub(l.begunAt).Seconds(); d > 0 {
		l.Average = l.nodeSeconds / d
	}
	for _, n := range l.present {
		l.Remaining = append(l.Remaining, n.name)
	}
	return l.ParentStats
}

type durations struct {
	h   *hdrhistogram.Histogram // in milliseconds
	max time.Duration
}

func (d *durations) add(one time.Duration) {
	d.max = max(d.max, one)
	_ = d.h.RecordValue(min(max(0, one.Milliseconds()), d.h.HighestTrackableValue()))
}

func (d *durations) quantile(q float64) time.Duration {
	return min(time.Duration(d.h.ValueAtQuantile(q))*time.Millisecond, d.max) // the histogram rounds up
}

func (d *durations) spread() DurationSummary {
	s := DurationSummary{Count: d.h.TotalCount(), P50: d.quantile(50), Max: d.max}
	if s.Count >= 100 {
		s.P99 = d.quantile(99)
	}
	return s
}

func hex(session int64) string { return "0x" + strconv.FormatUint(uint64(session), 16) }
