package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/units"
)

// againstBase is the suffix of a threshold on the base: "handoff.latency.p50 <= 1.05*base".
const againstBase = "*base"

func (c Condition) factor() (float64, bool) {
	digits, ok := strings.CutSuffix(c.Value, againstBase)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return f, err == nil && f > 0 && !math.IsInf(f, 0)
}

// TakesBase reports whether the condition compares with the base, which needs several trials.
func (c Condition) TakesBase() bool { return strings.HasSuffix(c.Value, againstBase) }

// judgeAgainst evaluates a comparison. The result is unknown unless the whole confidence
// interval is on one side of the limit; then Measured contains how many more trials would
// probably decide it.
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
		out.Measured += "; the limit is within the interval: run " + more(stats.More(x.Pairs, r, limit))
	}
	return out
}

func (c Condition) checkFactor() error {
	if c.Op == "==" || c.Op == "!=" {
		return fmt.Errorf("two measurements are never equal: compare with the base by <= or >=, not %s", c.Op)
	}
	if _, ok := c.factor(); !ok {
		return fmt.Errorf("%q is not a multiple of the base: write a positive number before *base, like 1.05%s", c.Value, againstBase)
	}
	return nil
}

func more(n int) string { return units.Plural(max(n, 1), "more trial") + " of each" }
