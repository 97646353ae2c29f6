package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// figures draws every kind of plot from the sample data.
func figures() []*Figure {
	s, glyphs := sampleScenario()
	return []*Figure{
		FanOut(s, glyphs), Growth(s, "handoff.latency", "hand-off", glyphs), Percentiles(s, 100, "handoff.latency", "hand-off", glyphs),
		OverTime(sampleTimeline(100, 10, false), glyphs), Flap(flapping(), glyphs),
		Failovers(sampleFailovers()), FailoverStages(sampleFailovers()), PauseRounds(samplePauses()),
		OverTime(sampleDeliveries(), glyphs), sampleCapacity(),
	}
}

// flapping is the sample scenario with flaps, of which one subject takes no notice.
func flapping() matrix.Scenario {
	trials := sampleTrials()
	for i := range trials {
		m := trials[i].Metrics["fanout.notifications"]
		zero := 0.0
		if trials[i].Subject == "lock/go-zookeeper" {
			m.Value, m.Expected = &zero, &zero
		}
		trials[i].Metrics["flap.notifications"] = m
	}
	return matrix.GroupScenarios(trials)[0]
}

// wellFormed reads SVG to its end and returns how many marks (paths) it draws.
func wellFormed(t *testing.T, name string, svg []byte) (paths int) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return paths
		}
		if err != nil {
			t.Fatalf("%s: not well-formed XML: %v", name, err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			if e.Name.Local == "path" {
				paths++
			}
			for _, a := range e.Attr {
				if a.Name.Local == "style" {
					t.Fatalf("%s: a style attribute is left, which the page's policy refuses: %v", name, e)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s: a coordinate is not a number: %s=%q", name, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestFigure_isWhatWasApproved(t *testing.T) {
	for _, f := range figures() {
		t.Run(f.Name, func(t *testing.T) {
			svg, err := f.SVG()
			must(t, err)
			if n := wellFormed(t, f.Name, svg); n < 10 {
				t.Errorf("only %d paths drawn", n)
			}
			if len(svg) > 120_000 {
				t.Errorf("%d bytes of SVG: too many for a page of 2 MB", len(svg))
			}
			again, err := f.SVG()
			if err != nil || !bytes.Equal(svg, again) {
				t.Errorf("drawn again, the bytes differ (%v)", err)
			}
			golden.Compare(t, f.Name+".svg", svg)

			picture, err := f.PNG()
			must(t, err)
			img, err := png.Decode(bytes.NewReader(picture))
			must(t, err)
			if w := img.Bounds().Dx(); w != 1280 {
				t.Errorf("it is %d pixels wide, want 1280", w)
			}
		})
	}
}

// TestFigures_standHardData draws what plotting libraries panic on.
func TestFigures_standHardData(t *testing.T) {
	zero, tiny, huge := 0.0, 1e-9, 1e18
	count := int64(1)
	cell := func(n int, v *float64) report.Trial {
		return report.Trial{Cell: history.Cell{Scenario: "s", Subject: "a<b>&\"'\x00é漢", Clients: n}, Metrics: map[string]metrics.Metric{
			"handoff.latency":      {Unit: "ns", Count: &count, P50: v, P99: v},
			"fanout.notifications": {Unit: "1/handoff", Value: v, Expected: v},
			"throughput":           {Unit: "1/s", Value: v},
		}}
	}
	long := cell(10, &tiny)
	long.Subject = strings.Repeat("lock/a-very-long-name-of-a-subject-", 8)
	for _, c := range []struct {
		name   string
		trials []report.Trial
		drawn  bool
	}{
		{"no trial at all", nil, false},
		{"a trial without metrics", []report.Trial{{Cell: history.Cell{Scenario: "s", Clients: 3}}}, false},
		{"only zeros, which have no place on a log axis", []report.Trial{cell(0, &zero), cell(5, &zero)}, false},
		{"one point", []report.Trial{cell(10, &tiny)}, true},
		{"zero clients", []report.Trial{cell(0, &tiny), cell(10, &tiny)}, true},
		{"tiny and huge", []report.Trial{cell(1, &tiny), cell(1_000_000, &huge)}, true},
		{"a name that is longer than the plot is wide", []report.Trial{long}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := matrix.Scenario{}
			if all := matrix.GroupScenarios(c.trials); len(all) > 0 {
				s = all[0]
			}
			if f := FanOut(s, NewGlyphs(nil)); (f != nil) != c.drawn {
				t.Errorf("fan-out drawn: %v, want %v", f != nil, c.drawn)
			}
			for _, f := range []*Figure{FanOut(s, NewGlyphs(nil)), Growth(s, "handoff.latency", "hand-off", NewGlyphs(nil)), Percentiles(s, 10, "handoff.latency", "hand-off", nil)} {
				check(t, f)
			}
		})
	}
}

func check(t *testing.T, f *Figure) {
	t.Helper()
	if f == nil {
		return
	}
	svg, err := f.SVG()
	must(t, err)
	wellFormed(t, f.Name, svg)
	if len(svg) > 200_000 {
		t.Errorf("%s: %d bytes of SVG", f.Name, len(svg))
	}
	_, err = f.PNG()
	must(t, err)
}

// everybody is a lock that locks nothing.
func everybody() Timeline {
	t := Timeline{Trial: "x", Label: "x", Clients: 100, Trace: &report.Trace{}}
	for i := range 2000 {
		at := time.Duration(i) * time.Millisecond
		t.Holds = append(t.Holds, report.Hold{Client: i % 100, Start: at, End: at + 90*time.Millisecond})
		for j := range min(i, 80) {
			t.Overlaps = append(t.Overlaps, verdict.Overlap{Older: i % 100, Newer: (i - j + 99) % 100, Start: at, End: at + time.Millisecond})
		}
	}
	return t
}

func TestFigures_standHardTimelines(t *testing.T) {
	instant := []report.Hold{{Client: 1, Start: time.Second, End: time.Second}}
	for _, c := range []struct {
		name string
		t    Timeline
	}{
		{"nothing", Timeline{Trace: &report.Trace{}}},
		{"only faults", Timeline{Trace: &report.Trace{Faults: []report.Fault{{Fault: "f", Start: 1, End: 2}}}}},
		{"one instant", Timeline{Trace: &report.Trace{Holds: instant, Handoffs: []metrics.Handoff{{At: time.Second, Latency: 1}}}}},
		{"hand-offs of no time or less", Timeline{Trace: &report.Trace{Handoffs: []metrics.Handoff{{At: 1}, {At: 2, Latency: -5}}}}},
		{"a fault that never ended", Timeline{Trace: &report.Trace{Holds: instant, Faults: []report.Fault{{Fault: "f", Start: time.Second}}, Handoffs: []metrics.Handoff{{At: time.Second, Latency: 7}}}}},
		{"everybody holds at once", everybody()},
		{"a very long trial", sampleTimeline(100, 300, true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, OverTime(c.t, NewGlyphs(nil)))
		})
	}
}

// legendText is what the legend says.
func legendText(f *Figure) string {
	var parts []string
	for _, e := range f.legendEntries() {
		parts = append(parts, e.text)
	}
	return strings.Join(parts, "; ")
}

// sampleTrials invents a plausible herd run: the parent variant pays per
// contender, the predecessor variant does not.
func sampleTrials() []report.Trial {
	var out []report.Trial
	for i, n := range []int{10, 25, 50, 100} {
		noise := 1 + 0.1*float64(i%2)
		out = append(out, sampleTrial("lock/parent", n, noise*0.9e6*math.Pow(float64(n), 0.75), float64(n+1)/2),
			sampleTrial("lock/predecessor", n, noise*0.7e6, float64(n-1)/float64(n)),
			sampleTrial("lock/go-zookeeper", n, 0.9e6, float64(n-1)/float64(n)))
	}
	return out
}

func sampleTrial(subject string, clients int, p50, expected float64) report.Trial {
	ptr := func(v float64) *float64 { return &v }
	count := int64(clients * 10)
	return report.Trial{
		Name: "herd-" + units.Identifier(subject) + "-" + string(rune('a'+clients%26)), Cell: history.Cell{Scenario: "herd", Subject: subject, Clients: clients},
		Metrics: map[string]metrics.Metric{
			"handoff.latency": {Unit: "ns", Count: &count, Min: ptr(p50 / 3), Mean: ptr(p50 * 1.2), P50: ptr(p50),
				P90: ptr(p50 * 2), P99: ptr(p50 * 4), P999: ptr(p50 * 6), Max: ptr(p50 * 7)},
			"fanout.notifications": {Unit: "1/handoff", Value: ptr(expected * 0.97), Expected: ptr(expected)},
			"throughput":           {Unit: "1/s", Count: &count, Value: ptr(1e9 / (p50 + 2e6))},
		},
	}
}

func sampleScenario() (matrix.Scenario, Glyphs) {
	s := matrix.GroupScenarios(sampleTrials())[0]
	var labels []string
	for _, x := range s.Series {
		labels = append(labels, x.Label)
	}
	return s, NewGlyphs(labels)
}

// sampleTimeline invents clients that hold in turn, with faults and, when asked,
// two holders at once.
func sampleTimeline(clients, rounds int, overlaps bool) Timeline {
	r := rand.New(rand.NewPCG(7, uint64(clients)))
	t := Timeline{Trial: "herd-lock-parent-" + string(rune('a'+clients%26)), Label: "lock/parent", Clients: clients, Trace: &report.Trace{}}
	now := 2 * time.Second
	for i := range clients * rounds {
		wait := time.Duration(2e6 * math.Exp(r.NormFloat64()*0.5))
		failover := i%37 == 20
		if failover {
			t.Faults = append(t.Faults, report.Fault{Fault: "session.close", Target: "client 3 (holder)", Start: now, End: now + 5*time.Millisecond, Proof: map[bool]string{true: "seen"}[i%2 == 0]})
			wait += 300 * time.Millisecond
		}
		now += wait
		t.Handoffs = append(t.Handoffs, metrics.Handoff{At: now, Latency: wait, Failover: failover})
		end := now + 20*time.Millisecond
		if overlaps && i == clients/2 {
			end += 12 * time.Millisecond
			o := verdict.Overlap{Older: i * 7 % clients, Newer: (i + 1) * 7 % clients, Start: end - 10*time.Millisecond, End: end}
			t.Overlaps = append(t.Overlaps, o)
			o.Exposure, o.Start, o.End = true, o.Start+time.Second, o.End+time.Second
			t.Overlaps = append(t.Overlaps, o)
		}
		t.Holds = append(t.Holds, report.Hold{Client: i * 7 % clients, Start: now, End: end})
		now += 20 * time.Millisecond
	}
	t.Faults = append(t.Faults, report.Fault{Fault: "partition.isolate", Target: "zk2 (leader)", Start: 4 * time.Second, End: 5 * time.Second, Proof: "seen"})
	return t
}
