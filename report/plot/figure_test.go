package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// figures draws every kind of plot from the sample data.
func figures() []*Figure {
	s, glyphs := sampleScenario()
	return []*Figure{
		FanOut(s, glyphs), Growth(s, "handoff.latency", "hand-off", glyphs), Percentiles(s, s.Count(100), "handoff.latency", "hand-off", glyphs),
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
			if err != nil {
				t.Fatal(err)
			}
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
		})
	}
}

func TestFigure_isAPictureToo(t *testing.T) {
	for _, f := range figures() {
		b, err := f.PNG()
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if w := img.Bounds().Dx(); w != 1280 {
			t.Errorf("%s is %d pixels wide, want 1280", f.Name, w)
		}
		if dir := os.Getenv("ZKBENCH_LOOK"); dir != "" { // to look at them
			if err := os.WriteFile(filepath.Join(dir, f.Name+".png"), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFigures_standHardData draws what plotting libraries panic on.
func TestFigures_standHardData(t *testing.T) {
	zero, tiny, huge := 0.0, 1e-9, 1e18
	count := int64(1)
	metric := func(v *float64) map[string]metrics.Metric {
		return map[string]metrics.Metric{
			"handoff.latency":      {Unit: "ns", Count: &count, P50: v, P99: v},
			"fanout.notifications": {Unit: "1/handoff", Value: v, Expected: v},
			"throughput":           {Unit: "1/s", Value: v},
		}
	}
	cell := func(n int, v *float64) report.Trial {
		return report.Trial{Cell: history.Cell{Scenario: "s", Subject: "a<b>&\"'\x00é漢", Clients: n}, Metrics: metric(v)}
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
			for _, f := range []*Figure{FanOut(s, NewGlyphs(nil)), Growth(s, "handoff.latency", "hand-off", NewGlyphs(nil)), Percentiles(s, s.Count(10), "handoff.latency", "hand-off", nil)} {
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
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, f.Name, svg)
	if len(svg) > 200_000 {
		t.Errorf("%s: %d bytes of SVG", f.Name, len(svg))
	}
	if _, err := f.PNG(); err != nil {
		t.Fatal(err)
	}
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
			start := time.Now()
			check(t, OverTime(c.t, NewGlyphs(nil)))
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
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
