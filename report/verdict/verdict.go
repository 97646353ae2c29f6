// Package verdict checks which guarantees a history keeps and which it breaks.
//
//	h, err := history.Open("history/herd-lock-parent-50.jsonl.zst")
//	for _, v := range verdict.Judge(h) {
//		fmt.Println(v.Guarantee, v.Result, v.Reasons)
//	}
//
// Every [Guarantee] has a file of its own: its promise, and a checker that processes the records
// one by one with little memory, so that a history larger than memory is evaluated in one reading.
// [All] lists them.
//
// Rule numbers in comments refer to the project's safety definitions. They have no false alarm:
// a violation that cannot be proven is unknown.
package verdict

import (
	"fmt"
	"slices"
	"time"
)

// The results of a verdict.
const (
	Pass    = "pass"
	Fail    = "fail"
	Unknown = "unknown"
	// The subject does not promise it: neither pass nor fail.
	NotPromised = "not promised"
	// The scenario does not exercise it: neither pass nor fail.
	NotJudged = "not exercised"
)

// Counts reports whether a result is a pass, or could have been one.
func Counts(result string) bool { return result != NotPromised && result != NotJudged }

// Readable names the verdict about a history itself. It is given only if the history is in doubt,
// and is not a [Guarantee].
const Readable = "history"

type Verdict struct {
	Guarantee string   `json:"guarantee"`
	Result    string   `json:"result"`
	Reasons   []string `json:"reasons"`
	Records   []int    `json:"records,omitempty"` // numbers, from 1, of the history records that prove it
	First     []int    `json:"first,omitempty"`   // the records that prove the first reason: the shortest proof
	// After is the time from the beginning of a script until the last of these records was
	// made; only in a zoo.
	After time.Duration `json:"after,omitempty"`
}

// Severity orders results: the worse, the higher. Results that do not count are below all others.
// Anything else that is neither pass nor fail is unknown.
func Severity(result string) int {
	switch {
	case result == Fail:
		return 2
	case result == Pass:
		return 0
	case !Counts(result):
		return -1
	}
	return 1
}

// Worst returns the worst of the results; unknown without results. Results that do not count are
// ignored.
func Worst(results ...string) string {
	if len(results) == 0 {
		return Unknown
	}
	worst := Pass
	for _, r := range results {
		switch Severity(r) {
		case 2:
			return Fail
		case 1:
			worst = Unknown
		}
	}
	return worst
}

// evidenceLimit bounds the reasons and records of one verdict.
const evidenceLimit = 5

// evidence collects a bounded number of reasons and records for one verdict.
type evidence struct {
	count   int
	reasons []string
	records []int
	first   []int // of records, only of the first reason
}

// add adds a reason, and the records that prove it; 0 is none.
func (e *evidence) add(records []int, format string, args ...any) {
	e.count++
	if e.count > evidenceLimit {
		return
	}
	e.reasons = append(e.reasons, fmt.Sprintf(format, args...))
	for _, r := range records {
		if r > 0 {
			e.records = append(e.records, r)
		}
	}
	if e.count == 1 {
		e.first = slices.Sorted(slices.Values(e.records))
	}
}

// fail converts the evidence to a failed verdict; what names one count, "overlap".
func (e *evidence) fail(what string) Verdict {
	reasons := e.reasons
	if more := e.count - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more %s", more, what))
	}
	slices.Sort(e.records)
	return Verdict{Result: Fail, Reasons: reasons, Records: slices.Compact(e.records), First: slices.Compact(e.first)}
}

// doubt is fail for reasons that leave the result open.
func (e *evidence) doubt(what string) Verdict {
	v := e.fail(what)
	v.Result = Unknown
	return v
}

func pass(reasons ...string) Verdict    { return Verdict{Result: Pass, Reasons: reasons} }
func unknown(reasons ...string) Verdict { return Verdict{Result: Unknown, Reasons: reasons} }

// inapplicable is the verdict on a case that the recipe does not allow.
func (e *evidence) inapplicable() Verdict {
	v := e.doubt("reasons")
	v.Result = NotJudged
	return v
}

func notJudged(reasons ...string) Verdict { return Verdict{Result: NotJudged, Reasons: reasons} }
