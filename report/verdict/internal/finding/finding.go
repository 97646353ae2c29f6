// Package finding collects the findings of a check into a verdict.
package finding

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
	// NotPromised means that the subject does not promise the guarantee: neither pass nor fail.
	NotPromised = "not promised"
	// NotJudged means that the scenario does not exercise the guarantee: neither pass nor fail.
	NotJudged = "not exercised"
)

// Verdict is the result of the check of one guarantee in one history.
type Verdict struct {
	Guarantee string   `json:"guarantee"`
	Result    string   `json:"result"`
	Reasons   []string `json:"reasons"`
	Records   []int    `json:"records,omitempty"` // numbers, from 1, of the history records that prove it
	First     []int    `json:"first,omitempty"`   // the records that prove the first reason: the shortest proof
	// After is the time from the beginning of a script until the last of Records; only in a zoo.
	After time.Duration `json:"after,omitempty"`
}

// Conclude returns a verdict without records.
func Conclude(result string, reasons ...string) Verdict {
	return Verdict{Result: result, Reasons: reasons}
}

// Limit bounds the reasons and records of one verdict.
const Limit = 5

// Evidence are the findings that prove a verdict. Reasons and records are those of the first ones.
type Evidence struct {
	Count   int
	Reasons []string
	records []int
	first   []int // of records, only of the first reason
}

// Add adds a finding. records are the numbers of the records that prove it; numbers less than 1 are ignored.
// After the first Limit findings it only counts.
func (e *Evidence) Add(records []int, format string, args ...any) {
	e.Count++
	if e.Count > Limit {
		return
	}
	e.Reasons = append(e.Reasons, fmt.Sprintf(format, args...))
	for _, r := range records {
		if r > 0 {
			e.records = append(e.records, r)
		}
	}
	if e.Count == 1 {
		e.first = slices.Sorted(slices.Values(e.records))
	}
}

// Merge adds other evidence, and as many of its reasons as Limit allows.
func (e *Evidence) Merge(other *Evidence) {
	for i, r := range other.Reasons {
		var records []int
		if i == 0 {
			records = other.records
		}
		e.Add(records, "%s", r)
	}
	e.Count += other.Count - len(other.Reasons)
}

// Fail returns a failure with the reasons.
func (e *Evidence) Fail(what string) Verdict { return e.Verdict(Fail, what) }

// Verdict returns a verdict with the reasons; what names those beyond Limit.
func (e *Evidence) Verdict(result, what string) Verdict {
	reasons := e.Reasons
	if more := e.Count - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more %s", more, what))
	}
	slices.Sort(e.records)
	return Verdict{Result: result, Reasons: reasons, Records: slices.Compact(e.records), First: slices.Compact(e.first)}
}
