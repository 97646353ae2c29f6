package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// rowAxis makes the y axis a list of rows, the first at the top.
func (f *Figure) rowAxis(labels []string, longest int) {
	y := &f.body.Y
	y.Min, y.Max, y.Padding = -0.5, float64(len(labels))-0.5, 0
	y.Tick.LineStyle.Width, y.Tick.Length = 0, 0
	var marks plot.ConstantTicks
	for i, label := range labels {
		text := units.Truncate(units.Clean(label), longest)
		marks = append(marks, plot.Tick{Value: rowAt(i, len(labels)), Label: text})
	}
	y.Tick.Marker = marks
}

func rowAt(i, n int) float64 { return float64(n - 1 - i) }

func (f *Figure) addCountedPoints(text string, g glyph, at []xy) {
	if len(at) > 0 {
		f.body.Add(points{at: at, glyph: g, size: glyphSize})
		f.legend = append(f.legend, legendEntry{text: fmt.Sprintf("%s (%d)", text, len(at)), glyph: g, point: true})
	}
}

// dropMiddle keeps at most limit values, the largest and the smallest by size, and sorts them by order.
func dropMiddle[T any, K cmp.Ordered](all []T, limit int, size func(T) time.Duration, order func(T) K) []T {
	if len(all) <= limit {
		return all
	}
	out := slices.SortedStableFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(size(b), size(a)) })
	out = slices.Delete(out, limit/2, limit/2+len(out)-limit)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(order(a), order(b)) })
	return out
}

// Failovers plots the duration of each failover, one row per cause, over the predicted range.
func Failovers(d Timeline) *Figure {
	rows := groupByCause(d.Failovers)
	if len(rows) == 0 {
		return nil
	}
	f := d.figure("failover", "From the injection to the next grant: "+d.Label,
		"Each point is a failover. The bars show the range that ZooKeeper's session expiry allows: from the remainder of the session timeout to the whole timeout, "+
			"rounded up to ticks, plus the delay of a follower and a margin for a busy machine.")
	f.Answer = true
	f.data.x, f.data.y = "round", "seconds"
	f.body.Add(verticalGrid())
	f.legend = append(f.legend, legendEntry{text: "predicted", glyph: glyph{color: predictedColor}, area: true})
	end, means := seconds(d.Promise), false
	var names []string
	for i, r := range rows {
		names = append(names, r.name)
		y, least, most := rowAt(i, len(rows)), seconds(r.least), seconds(r.most)
		f.body.Add(bar{y: y, half: 0.38, from: least, to: most, shortest: 2, color: predictedColor})
		if mean := r.means / time.Duration(len(r.rounds)); mean > 0 {
			means = true
			f.body.Add(line{at: []xy{{seconds(mean), y - 0.38}, {seconds(mean), y + 0.38}}, style: stroke(faint, lineWidth)})
		}
		f.data.add(r.name+" (predicted)", []xy{{0, least}, {0, most}})
		var at []xy
		for _, x := range r.rounds {
			end = max(end, seconds(x.Latency), seconds(x.Most))
			if !x.Never {
				at = append(at, xy{float64(x.Round), seconds(x.Latency)})
			}
		}
		f.data.add(r.name, at)
	}
	f.rowAxis(names, 24)
	durationAxis(&f.body.X, end)
	if means {
		f.legend = append(f.legend, legendEntry{text: "predicted mean", glyph: glyph{color: faint}, line: true})
	}
	f.addRounds(rows)
	if d.Promise > 0 {
		x := seconds(d.Promise)
		f.body.Add(line{at: []xy{{x, f.body.Y.Min}, {x, f.body.Y.Max}}, style: dashed(violationColor, lineWidth)})
		f.legend = append(f.legend, legendEntry{text: "promise: " + units.Duration(float64(d.Promise)), glyph: glyph{color: violationColor}, line: true, dash: true})
	}
	f.height = 165 + 34*vg.Length(len(rows))
	return f
}

func durationAxis(a *plot.Axis, end float64) {
	secondsAxis(a, 0, max(end, 0.001)*1.04)
	a.Label.Text = "seconds"
}

var predictedColor = color.RGBA{0xd6, 0xe8, 0xf7, 0xff}

type causeRow struct {
	name        string
	rounds      []metrics.Failover
	least, most time.Duration // of the predictions
	means       time.Duration // sum of the predicted means
}

func groupByCause(rounds []metrics.Failover) []causeRow {
	var out []causeRow
	for _, same := range matrix.Group(rounds, func(r metrics.Failover) string { return r.Phase }) {
		c := causeRow{name: same[0].Phase, rounds: same, least: same[0].Least}
		for _, r := range same {
			c.means, c.least, c.most = c.means+r.Mean, min(c.least, r.Least), max(c.most, r.Most)
		}
		out = append(out, c)
	}
	return out
}

// addRounds adds the points: hand-offs, rounds in which the holder kept its grant, and rounds outside
// the predicted range.
func (f *Figure) addRounds(rows []causeRow) {
	for _, k := range []struct {
		text  string
		glyph glyph
		is    func(metrics.Failover) bool
	}{
		{"handed off", glyph{palette[0], circle}, func(r metrics.Failover) bool { return !r.Kept && !r.Outside() }},
		{"kept by the holder", glyph{palette[2], diamond}, func(r metrics.Failover) bool { return r.Kept && !r.Outside() }},
		{"outside the predicted range", glyph{violationColor, cross}, metrics.Failover.Outside},
	} {
		var at []xy
		for i, row := range rows {
			last := float64(max(len(row.rounds)-1, 1))
			for j, r := range row.rounds {
				if k.is(r) && !r.Never {
					off := 0.5 * (float64(j)/last - 0.5) // so that equal points do not hide each other
					at = append(at, xy{seconds(r.Latency), rowAt(i, len(rows)) + off})
				}
			}
		}
		f.addCountedPoints(k.text, k.glyph, at)
	}
}

// addStackedBars adds a row for each bar, whose parts follow each other. end is the end of the longest bar.
func (f *Figure) addStackedBars(rowLabels []string, bars [][]time.Duration, end float64, partNames []string) {
	f.rowAxis(rowLabels, 24)
	durationAxis(&f.body.X, end)
	f.body.Add(verticalGrid())
	for i, parts := range bars {
		y, at := rowAt(i, len(bars)), time.Duration(0)
		for k, d := range parts {
			if d > 0 {
				color := palette[k%len(palette)]
				f.body.Add(bar{y: y, half: 0.36, from: seconds(at), to: seconds(at + d), color: color})
				at += d
			}
		}
	}
	for i, text := range partNames {
		f.legend = append(f.legend, legendEntry{text: text, glyph: glyph{color: palette[i%len(palette)]}, area: true})
	}
	f.height = 205 + 17*vg.Length(len(bars))
}

// stageRows is the largest number of bars in one figure; rounds between the extremes are omitted.
const stageRows = 30

// FailoverStages plots the stages of each failover in which the session had to expire first, one bar per round.
func FailoverStages(d Timeline) *Figure {
	all := slices.DeleteFunc(slices.Clone(d.Failovers), func(r metrics.Failover) bool { return len(r.Stages) == 0 })
	if len(all) == 0 {
		return nil
	}
	rounds := dropMiddle(all, stageRows,
		func(r metrics.Failover) time.Duration { return r.Latency }, func(r metrics.Failover) time.Duration { return r.At })
	f := d.figure("failover-budget", "Stages of a failover: "+d.Label,
		"Each bar is a failover, from the injection to the next grant. Most of this time is the wait until the session expires; the recipe's own time is at the end of the bar.")
	if omitted := len(all) - len(rounds); omitted > 0 {
		f.About += fmt.Sprintf(" Of %d failovers, %d of medium length are omitted.", len(all), omitted)
	}
	f.Answer = true
	f.data.x, f.data.y = "round", "seconds"
	end := 0.0
	var rowLabels, partNames []string
	var bars [][]time.Duration
	for _, r := range rounds {
		rowLabels = append(rowLabels, fmt.Sprintf("%s %d", r.Phase, r.Round))
		end = max(end, seconds(r.Latency))
		var parts []time.Duration
		for _, stage := range metrics.Stages {
			d, ok := r.Stages[stage]
			parts = append(parts, d)
			if ok {
				f.data.add(r.Phase+" "+stageNames[stage], []xy{{float64(r.Round), seconds(d)}})
			}
		}
		bars = append(bars, parts)
	}
	for _, stage := range metrics.Stages {
		partNames = append(partNames, stageNames[stage]+medianOf(rounds, stage))
	}
	f.addStackedBars(rowLabels, bars, end, partNames)
	return f
}

var stageNames = map[string]string{
	metrics.FailoverDetect: "session timeout left", metrics.FailoverExpire: "rounding to a tick", metrics.FailoverCommit: "commit",
	metrics.FailoverNotify: "notification", metrics.FailoverRelist: "next client",
}

func medianOf(rounds []metrics.Failover, stage string) string {
	var all []float64
	for _, r := range rounds {
		if d, ok := r.Stages[stage]; ok {
			all = append(all, float64(d))
		}
	}
	median, ok := stats.Middle(all)
	if !ok {
		return " (not observed)"
	}
	return " (" + units.Duration(median) + ")"
}

// HandoffStages plots each stage's median in the drain with the most contenders, one bar per subject.
func HandoffStages(s matrix.Scenario) *Figure {
	f := newFigure("handoff-stages", "Stages of a hand-off in a drain",
		"From the call to release until the next client's acquire returns, as seen on the wire: the median of each stage, with the most contenders. "+
			"The commit stage is the time of the ensemble; the release, reaction and grant stages are the time of the recipe.")
	f.data.x, f.data.y = "stage", "seconds"
	var rowLabels, partNames []string
	var bars [][]time.Duration
	var floors []float64 // in seconds, by bar
	end := 0.0
	for _, x := range s.Series {
		parts, floor, n := stagesOf(x)
		if parts == nil {
			continue
		}
		floors = append(floors, floor)
		name := fmt.Sprintf("%s, %d", x.Label, n)
		rowLabels, bars = append(rowLabels, name), append(bars, parts)
		total := 0.0
		for i, d := range parts {
			total += seconds(d)
			f.data.add(name, []xy{{float64(i + 1), seconds(d)}})
		}
		end = max(end, total, floor)
	}
	if len(bars) == 0 {
		return nil
	}
	for _, stage := range metrics.HandoffStages {
		partNames = append(partNames, stage.Label)
	}
	f.addStackedBars(rowLabels, bars, end, partNames)
	for i, floor := range floors {
		if y := rowAt(i, len(bars)); floor > 0 {
			f.body.Add(line{at: []xy{{floor, y - 0.46}, {floor, y + 0.46}}, style: stroke(ink, 2*lineWidth)})
		}
	}
	if slices.Max(floors) > 0 {
		f.legend = append(f.legend, legendEntry{text: "a delete and a read alone", glyph: glyph{color: ink}, line: true})
		f.About += " The black line is the time of one delete and one read by a client of zkbench in the same drain."
	}
	x, step := &f.body.X, niceStep(f.body.X.Max/8)
	x.Label.Text = "milliseconds"
	x.Tick.Marker = linearTicks(0, x.Max, step, func(v float64) string { return formatStep(1000*v, 1000*step) })
	return f
}

// stagesOf returns the median stages in the trial with the most contenders, the median floor in seconds, and the
// number of contenders; nil without stages.
func stagesOf(x matrix.Series) (parts []time.Duration, floor float64, clients int) {
	for _, t := range x.Trials {
		if all := metrics.MedianStages(t.Metrics); all != nil && t.Clients > clients {
			parts, clients, floor = all, t.Clients, 0
			if p := t.Metrics[metrics.HandoffFloor].P50; p != nil {
				floor = *p / float64(time.Second)
			}
		}
	}
	return parts, floor, clients
}

// Pauses contains the rounds of one series in which a holder's process was paused.
type Pauses struct {
	Label  string
	Rounds []metrics.Pause
}

// pauseRows is the largest number of rows in one figure; rounds between the extremes are omitted.
const pauseRows = 40

type pauseRow struct {
	metrics.Pause
	series string
}

// PauseRounds plots rounds in which the holder's process is paused, one row per round: the pause, the
// expiry of the session, the next grant, and the false belief of the paused holder.
func PauseRounds(all []Pauses) *Figure {
	if len(all) == 0 {
		return nil
	}
	f := newFigure("paused", "While the holder's process is paused",
		"Each row is a round, from SIGSTOP. The session expires during the pause, and the grant passes to the next client. Soon after that the process resumes. It believes that it still holds the grant until it is notified of the loss.")
	omitted, end := 0, 0.0
	var rows []pauseRow
	var labels []string
	for _, p := range all {
		rounds := dropMiddle(p.Rounds, max(2, pauseRows/len(all)),
			func(r metrics.Pause) time.Duration { return r.Until - r.Resumed }, func(r metrics.Pause) int { return r.Round })
		omitted += len(p.Rounds) - len(rounds)
		label := p.Label // of the first row only
		for _, r := range rounds {
			rows, labels = append(rows, pauseRow{r, p.Label}), append(labels, label)
			end, label = max(end, seconds(r.Until)), ""
		}
	}
	if omitted > 0 {
		f.About += fmt.Sprintf(" %s of medium length %s omitted.", units.Plural(omitted, "round"), map[bool]string{true: "is", false: "are"}[omitted == 1])
	}
	f.Answer = true
	f.rowAxis(labels, 28)
	secondsAxis(&f.body.X, 0, end*1.04)
	f.body.X.Label.Text, f.yTitle = "", "seconds since SIGSTOP" // above, because the rows can be many
	f.data.x, f.data.y = "round", "seconds"
	f.body.Add(verticalGrid())
	f.height = 165 + 15*vg.Length(max(len(rows), 3))
	f.addPauseBars(rows, "process paused", predictedColor, 0.42, func(r metrics.Pause) (from, to time.Duration) { return 0, r.Resumed })
	f.addPauseBars(rows, "false belief", violationColor, 0.2, func(r metrics.Pause) (from, to time.Duration) { return r.Granted, r.Until })
	f.addPauseEvents(rows, "session expired", glyph{palette[6], diamond}, func(r metrics.Pause) (time.Duration, bool) { return r.Expired, r.Expired != 0 })
	f.addPauseEvents(rows, "next client granted", glyph{palette[2], circle}, func(r metrics.Pause) (time.Duration, bool) { return r.Granted, true })
	f.addPauseEvents(rows, "never notified", glyph{violationColor, triangle}, func(r metrics.Pause) (time.Duration, bool) { return r.Until, !r.Notified })
	return f
}

func (f *Figure) addPauseBars(rows []pauseRow, text string, c color.RGBA, half float64, span func(metrics.Pause) (from, to time.Duration)) {
	for i, r := range rows {
		from, to := span(r.Pause)
		f.body.Add(bar{y: rowAt(i, len(rows)), half: half, from: seconds(from), to: seconds(to), shortest: 1.5, color: c})
		f.data.add(r.series+": "+text, []xy{{float64(r.Round), seconds(to)}})
	}
	f.legend = append(f.legend, legendEntry{text: text, glyph: glyph{color: c}, area: true})
}

func (f *Figure) addPauseEvents(rows []pauseRow, text string, g glyph, event func(metrics.Pause) (at time.Duration, happened bool)) {
	var at []xy
	for i, r := range rows {
		if t, happened := event(r.Pause); happened {
			at = append(at, xy{seconds(t), rowAt(i, len(rows))})
			f.data.add(r.series+": "+text, []xy{{float64(r.Round), seconds(t)}})
		}
	}
	f.addCountedPoints(text, g, at)
}
