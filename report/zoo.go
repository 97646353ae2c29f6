package report

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// provoked takes over what was done in a zoo, and how long each failure took to show.
// These histories are small enough to be read once more for it.
func (t *Trial) provoked(h *history.History) {
	if t.Provocation == "" || len(h.Phases) == 0 {
		return
	}
	last := make([]time.Duration, len(t.Verdicts))
	for n, err := range h.Records {
		if err != nil {
			return // a verdict says so
		}
		for i, v := range t.Verdicts {
			if v.Result == Fail && slices.Contains(v.Records, n.N) {
				last[i] = max(last[i], n.Time())
			}
		}
	}
	for i := range last {
		if last[i] > 0 {
			t.Verdicts[i].After = last[i] - h.Phases[0].Start
		}
	}
}

// Missed returns the guarantees that the subject was to be caught breaking, and was not.
func (t Trial) Missed() []string {
	var missed []string
	for _, name := range t.Expect {
		broken := slices.ContainsFunc(t.Verdicts, func(v verdict.Verdict) bool { return v.Guarantee == name && v.Result == Fail })
		if !broken {
			missed = append(missed, name)
		}
	}
	return missed
}
