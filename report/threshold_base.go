package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/units"
)

// againstBase marks the value of a threshold as a multiple of the base's:
// "handoff.latency.p50 <= 1.05*base".
const againstBase = "*base"

// factor returns the multiple of the base's value that the condition allows.
func (c Condition) factor() (float64, bool) {
	digits, ok := strings.CutSuffix(c.Value, againstBase)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return f, err == nil && f > 0 && !math.IsInf(f, 0)
}

// TakesBase says that one trial is not enough to judge the condition: it compares with
// the base.
func (c Condition) TakesBase() bool { return strings.HasSuffix(c.Value, againstBase) }

// judgeAgainst judges a comparison. It is decided only where the whole confidence
// interval stands on one side of the limit; otherwise Measured says how many more trials
// would probably decide it.
func (c Condition) judgeAgainst(x Comparison) Threshold {
	limit, _ := c.factor()
	out := Threshold{Expr: c.Expr, Result: Unknown, Measured: x.String()}
	r := x.Ratio
	if r.Low == nil {
		out.Measured += fmt.Sprintf("; not enough trials for a confidence interval: run %s", more(stats.More(x.Pairs, r, limit)))
		return out
	}
	best, worst := *r.Low, *r.High
	if c.Op[0] == '>' {
		best, worst = worst, best
	}
	switch {
	case holds(worst, c.Op, limit):
		out.Result = Pass
	case !holds(best, c.Op, limit):
		out.Result = Fail
	default:
		out.Measured += "; the interval holds the limit: run " + more(stats.More(x.Pairs, r, limit))
	}
	return out
}

// checkFactor checks a value like 1.05*base.
func (c Condition) checkFactor() error {
	if c.Op == "==" || c.Op == "!=" {
		return fmt.Errorf("no two measurements are equal: compare with the base by <= or >=, not %s", c.Op)
	}
	if _, ok := c.factor(); !ok {
		return fmt.Errorf("%q is no multiple of the base: write a number before it, like 1.05%s", c.Value, againstBase)
	}
	return nil
}

func more(n int) string { return units.Plural(max(n, 1), "more trial") + " of each" }
