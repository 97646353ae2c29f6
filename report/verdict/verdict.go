// Package verdict says which guarantees a history keeps and which it breaks.
//
// Every guarantee is a named verdict in a file of its own: a sweep over the
// records that keeps little and never looks back, so that a history larger than
// memory is judged in one reading.
//
//	h, err := history.Open("history/herd-lock-parent-50.jsonl.zst")
//	verdicts := verdict.Judge(h)
//
// The rules that the comments cite by number are those of the project's safety
// definitions: built to have no false alarm, so what cannot be proven is unknown.
package verdict

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// The results of a verdict.
const (
	Pass    = "pass"
	Fail    = "fail"
	Unknown = "unknown"
)

// Names of the guarantees.
const (
	MutualExclusion = "mutual-exclusion"
	Fencing         = "fencing"
	Progress        = "progress"
	FIFO            = "fifo"
	FanOut          = "fan-out"
	ClaimValidity   = "claim-validity"
	Succession      = "succession"
	NoPhantom       = "no-phantom"
	NoDuplicate     = "no-duplicate"
	NoLoss          = "no-loss"
	QueueFIFO       = "queue-fifo"
	NoOrphan        = "no-orphan"
	BusyLoop        = "busy-loop"
	Faults          = "faults"
	Fit             = "fit"     // of the machine and the harness, not of the subject
	Readable        = "history" // only present when the history itself is in doubt
)

// Verdict is what the history proves about one guarantee.
type Verdict struct {
	Guarantee string   `json:"guarantee"`
	Result    string   `json:"result"`
	Reasons   []string `json:"reasons"`
	Records   []int    `json:"records,omitempty"` // numbers (1 based) of the history records that prove it
	// After is how long after the beginning of a provocation the last of these records
	// was made; only in a zoo.
	After time.Duration `json:"after,omitempty"`
}

// Grace is how long after a loss was delivered an act of the holder may still
// be one that it had begun before: the time between its look at the grant and
// the act, on a machine that stalls.
const Grace = time.Second

// margin is added to every time limit, for stalls of the machine that runs us.
const margin = 2 * time.Second

// evidenceLimit bounds the reasons and records that one verdict cites.
const evidenceLimit = 5

// checker judges one guarantee. finish is called once, after the last record.
type checker struct {
	name    string
	applies func() bool // asked at the end: did the history hold anything of this kind?
	record  func(n history.Numbered)
	belief  func(b Belief)
	finish  func(end time.Duration) Verdict
}

// Court judges a history record by record.
type Court struct {
	// OnBelief, when set, receives every belief in the order of its start.
	OnBelief func(b Belief)
	// OnOverlap, when set, receives every time in which two clients held at once.
	OnOverlap func(o Overlap)

	history  *history.History
	names    []string // of all that could be judged
	checkers []checker
	beliefs  *Beliefs
	end      time.Duration
	records  int
}

// NewCourt returns a court for the history, of which nothing was read yet.
func NewCourt(h *history.History) *Court {
	c := &Court{history: h}
	c.beliefs = NewBeliefs(c.believe)
	seen := &seen{}
	c.checkers = []checker{
		{record: seen.record},
		newMutualExclusion(h, seen, c.beliefs, c.overlap), newFencing(seen), newProgress(h, seen), newFIFO(h, seen),
		newClaimValidity(h, seen), newNoOrphan(h, seen), newSuccession(), newFanOut(h), newBusyLoop(h), newFaults(h), newFit(h),
	}
	c.checkers = append(c.checkers, newQueue(seen)...)
	for _, k := range c.checkers {
		c.names = append(c.names, k.name)
	}
	c.checkers = slices.DeleteFunc(c.checkers, func(k checker) bool { return k.name != "" && !c.wanted(k.name) })
	return c
}

// seen counts the operations, to know which guarantees are at stake.
type seen struct{ acquires, writes, puts, takes int }

func (s *seen) record(n history.Numbered) {
	sample, ok := n.Record.(*history.Sample)
	if !ok {
		return
	}
	switch sample.Op {
	case history.Acquire:
		s.acquires++
	case history.Write:
		s.writes++
	case history.Put:
		s.puts++
	case history.Take:
		s.takes++
	}
}

// granting says that the subject grants something: a lock or an election. A
// history without any operation counts, so that emptiness is not skipped over.
func (s *seen) granting() bool { return s.acquires > 0 || s.puts+s.takes == 0 }

func (s *seen) queueing() bool { return s.puts+s.takes > 0 }

func (c *Court) believe(b Belief) {
	for i := range c.checkers {
		if c.checkers[i].belief != nil {
			c.checkers[i].belief(b)
		}
	}
	if c.OnBelief != nil {
		c.OnBelief(b)
	}
}

func (c *Court) overlap(o Overlap) {
	if c.OnOverlap != nil {
		c.OnOverlap(o)
	}
}

// Add hears the next record.
func (c *Court) Add(n history.Numbered) {
	c.records++
	c.end = max(c.end, n.Time())
	for i := range c.checkers {
		if c.checkers[i].record != nil {
			c.checkers[i].record(n)
		}
	}
	c.beliefs.Add(n)
}

// Close ends the hearing. readErr is what reading the history ended with, nil
// when it was read to its end: a history that is cut short can prove a failure,
// never a pass.
func (c *Court) Close(readErr error) []Verdict {
	c.beliefs.Close(c.end)
	var out []Verdict
	for _, k := range c.checkers {
		if k.finish == nil || !c.asked(k) {
			continue
		}
		v := k.finish(c.end)
		v.Guarantee = k.name
		if readErr != nil && v.Result == Pass {
			v.Result = Unknown
			v.Reasons = append([]string{"the history could not be read to its end"}, v.Reasons...)
		}
		if v.Reasons == nil {
			v.Reasons = []string{}
		}
		out = append(out, v)
	}
	if v, doubtful := c.doubt(readErr); doubtful {
		out = append(out, v)
	}
	return out
}

// asked says whether the verdict is due: where the history asks for some by name, those
// are, whatever is in it.
func (c *Court) asked(k checker) bool {
	if len(c.history.Header.Guarantees) > 0 && k.name != Faults && k.name != Fit {
		return true
	}
	return k.applies == nil || k.applies()
}

// wanted says whether anybody asks for the guarantee. Nobody hears the records for
// one that is not wanted.
func (c *Court) wanted(name string) bool {
	all := c.history.Header.Guarantees
	return len(all) == 0 || name == Faults || name == Fit || slices.Contains(all, name)
}

// doubt is the verdict about the history itself, given only when there is one.
func (c *Court) doubt(readErr error) (Verdict, bool) {
	v := Verdict{Guarantee: Readable, Result: Unknown}
	switch {
	case errors.Is(readErr, history.ErrTruncated):
		v.Reasons = []string{fmt.Sprintf("%v: what came after is not known", readErr)}
	case readErr != nil:
		v.Reasons = []string{readErr.Error()}
	case c.records == 0:
		v.Reasons = []string{"the history holds no record: nothing was measured"}
	}
	for _, name := range c.history.Header.Guarantees {
		if !slices.Contains(c.names, name) {
			v.Reasons = append(v.Reasons, fmt.Sprintf("nobody judges the guarantee %q that was asked for", name))
		}
	}
	return v, len(v.Reasons) > 0
}

// Judge reads the history once and returns a verdict for each guarantee that is
// at stake in it, in a fixed order. It has no error: a history that cannot be
// read is an unknown verdict that says so.
func Judge(h *history.History) []Verdict {
	c := NewCourt(h)
	var readErr error
	for n, err := range h.Records {
		if err != nil {
			readErr = err
			break
		}
		c.Add(n)
	}
	return c.Close(readErr)
}

// Worst folds results into one: fail before unknown before pass. No result at
// all is unknown.
func Worst(vs []Verdict) string {
	worst := Pass
	for _, v := range vs {
		if v.Result == Fail {
			return Fail
		}
		if v.Result != Pass {
			worst = Unknown
		}
	}
	if len(vs) == 0 {
		return Unknown
	}
	return worst
}

// evidence collects a bounded number of reasons and records for one verdict.
type evidence struct {
	count   int
	reasons []string
	records []int
}

func (e *evidence) add(reason func() string, records ...int) {
	e.count++
	if e.count > evidenceLimit {
		return
	}
	e.reasons = append(e.reasons, reason())
	for _, r := range records {
		if r > 0 {
			e.records = append(e.records, r)
		}
	}
}

// fail turns the evidence into a failed verdict; what names one count, "overlap".
func (e *evidence) fail(what string) Verdict {
	reasons := e.reasons
	if more := e.count - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more %s", more, what))
	}
	slices.Sort(e.records)
	return Verdict{Result: Fail, Reasons: reasons, Records: slices.Compact(e.records)}
}

func pass(reasons ...string) Verdict    { return Verdict{Result: Pass, Reasons: reasons} }
func unknown(reasons ...string) Verdict { return Verdict{Result: Unknown, Reasons: reasons} }
