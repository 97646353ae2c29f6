package plot

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/report/units"
)

// logScale is a logarithmic axis that never panics; gonum's panics on values <= 0. Such values
// are filtered out before; this is a safeguard, so that a bug does not prevent the whole file.
type logScale struct{}

func (logScale) Normalize(low, high, x float64) float64 {
	if low <= 0 || high <= low || x <= 0 {
		return 0
	}
	return math.Log(x/low) / math.Log(high/low)
}

// logAxis makes an axis logarithmic over the positive values. write formats the tick labels.
func logAxis(a *plot.Axis, values []float64, write func(float64) string) {
	low, high := span(values)
	low, high = low/1.25, high*1.25
	if high/low < 4 { // a single value still needs two labelled ticks around it
		mid := math.Sqrt(low * high)
		low, high = mid/2.2, mid*2.2
	}
	a.Min, a.Max, a.Scale = low, high, logScale{}
	a.Tick.Marker = logTicks(low, high, write)
}

// logTicks labels powers of ten, and also 2 and 5 if there is room.
func logTicks(low, high float64, write func(float64) string) plot.ConstantTicks {
	decades := math.Log10(high / low)
	every := max(1, int(math.Ceil(decades/8)))
	first := int(math.Floor(math.Log10(low)))
	slack := (high - low) * 1e-9
	var out plot.ConstantTicks
	for e := first; float64(e) <= math.Log10(high); e++ {
		for m := 1; m <= 9; m++ {
			t := plot.Tick{Value: float64(m) * math.Pow10(e)}
			labelled := m == 1 && (e-first)%every == 0 || decades < 3 && (m == 2 || m == 5)
			if labelled {
				t.Label = write(t.Value)
			}
			if (labelled || every == 1) && t.Value >= low-slack && t.Value <= high+slack {
				out = append(out, t)
			}
		}
	}
	return out
}

func countAxis(a *plot.Axis, counts []int) {
	values := make([]float64, len(counts))
	for i, n := range counts {
		values[i] = float64(n)
	}
	low, high := span(values)
	pad := math.Max(math.Pow(high/low, 0.06), 1.08)
	a.Min, a.Max, a.Scale = low/pad, high*pad, logScale{}
	a.Tick.Marker = countTicks(values, a.Min, a.Max)
}

// countTicks labels as many counts as fit without overlap, always including the largest.
func countTicks(values []float64, low, high float64) plot.ConstantTicks {
	const room = 520 // approximate length of the axis in points
	sty := typeface(smallSize, ink)
	var out plot.ConstantTicks
	edge := vg.Length(math.Inf(1))
	for _, v := range slices.Backward(values) {
		if v <= 0 {
			continue
		}
		label := units.Number(v)
		mid, half := vg.Length(room*logScale{}.Normalize(low, high, v)), sty.Width(label)/2+4
		if mid+half > edge {
			label = ""
		} else {
			edge = mid - half
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	slices.Reverse(out)
	return out
}

func secondsAxis(a *plot.Axis, from, to float64) {
	if !(to > from) {
		from, to = from-0.5, from+0.5
	}
	a.Min, a.Max = from, to
	a.Label.Text = "seconds since the start of the run"
	step := niceStep((to - from) / 8)
	a.Tick.Marker = linearTicks(from, to, step, func(v float64) string { return formatStep(v, step) })
}

// axisFromZero makes an axis linear from 0, with labels at least step apart.
func axisFromZero(a *plot.Axis, most, step float64) {
	a.Min, a.Max = 0, most*1.05
	a.Tick.Marker = linearTicks(0, a.Max, max(step, niceStep(most/6)), units.TickNumber)
}

func linearTicks(low, high, step float64, write func(float64) string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for k := math.Ceil(low / step); k*step <= high; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: write(k * step)})
	}
	return out
}

func formatStep(v, step float64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	return formatFixed(v, decimals)
}

func niceStep(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*base*(1+1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// span returns the lowest and the highest positive value, or 1 and 10 if there is none.
func span(values []float64) (low, high float64) {
	for _, v := range values {
		if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if low == 0 || v < low {
			low = v
		}
		high = math.Max(high, v)
	}
	if low == 0 {
		return 1, 10
	}
	return low, high
}
