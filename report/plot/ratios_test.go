package plot

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestChanges(t *testing.T) {
	if Changes("t", "a", nil, 1.05) != nil {
		t.Error("a plot of nothing")
	}
	rows := []Change{
		{Label: "handoff.latency.p50, lock/a", Factor: 1.1, Low: 1.05, High: 1.15, Alarm: true, Noise: 1.01},
		{Label: "no interval", Factor: 0.98},
		{Label: "beyond every axis", Factor: 1e9, Low: 0.5, High: math.Inf(1)},
	}
	f := Changes("What changed", "about", rows, 1.05)
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"handoff.latency.p50, lock/a", "no interval", "worse", "limit", "the same against itself", "+100 %"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the plot does not say %q", want)
		}
	}
	if _, err := f.PNG(); err != nil {
		t.Error(err)
	}
	var many []Change
	for range 100 {
		many = append(many, Change{Label: "x", Factor: 1})
	}
	if f := Changes("t", "a", many, 0); !strings.Contains(f.About, "first 40 of 100") {
		t.Errorf("about %q does not say what is left out", f.About)
	}
}

func TestTrend(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 3, 0, 0, 0, time.UTC) }
	for _, row := range []struct {
		about string
		lines []Line
		says  []string
	}{
		{"over days it has dates", []Line{{"lock/a", []Point{{day(1), 1e6, 9e5, 1.1e6}, {day(9), 2e6, 0, 0}}}}, []string{"lock/a", "2026-11-01", "2026-11-09"}},
		{"within a day it has times", []Line{{"lock/a", []Point{{day(1), 1e6, 0, 0}, {day(1).Add(5 * time.Hour), 2e6, 0, 0}}}}, []string{"03:00", "08:00", "2026-11-01"}},
		{"a single run is a point", []Line{{"lock/a", []Point{{day(1), 1e6, 0, 0}}}}, []string{"lock/a"}},
		{"no points are no plot", []Line{{"lock/a", []Point{{day(1), 0, 0, 0}, {day(2), math.Inf(1), 0, 0}, {day(2), math.NaN(), 0, 0}}}}, nil},
	} {
		f := Trend("handoff", "hand-off", "ns", row.lines, NewLooks([]string{"lock/a"}))
		if f == nil {
			if row.says != nil {
				t.Errorf("%s: no plot", row.about)
			}
			continue
		}
		svg, err := f.SVG()
		if err != nil || row.says == nil {
			t.Errorf("%s: a plot, error %v", row.about, err)
			continue
		}
		for _, want := range row.says {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: it does not say %q", row.about, want)
			}
		}
	}
}
