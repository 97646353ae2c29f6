package plot

import (
	"math"
	"strings"
	"testing"
)

func TestChanges_sayWhatEachRowMeans(t *testing.T) {
	if Changes("t", "a", nil, 1.05) != nil {
		t.Error("a plot of nothing")
	}
	rows := []Change{
		{Label: "handoff.latency.p50, lock/a", Factor: 1.1, Low: 1.05, High: 1.15, IsWorse: true, Noise: 1.01},
		{Label: "no interval", Factor: 0.98},
		{Label: "beyond every axis", Factor: 1e9, Low: 0.5, High: math.Inf(1)},
	}
	f := Changes("What changed", "about", rows, 1.05)
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"handoff.latency.p50, lock/a", "no interval", "worse", "limit", "base compared with itself", "+100 %"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the plot does not say %q", want)
		}
	}
	var many []Change
	for range 100 {
		many = append(many, Change{Label: "the same", Factor: 1})
	}
	many[97] = Change{Label: "shown only", Factor: 1.2, Faint: true}
	many[98] = Change{Label: "differs", Factor: 1.01}
	many[99] = Change{Label: "worse", Factor: 1.3, IsWorse: true}
	f = Changes("t", "a", many, 0)
	if svg, err := f.SVG(); err != nil || !strings.Contains(string(svg), "40 of 100 rows") {
		t.Errorf("the plot does not say what is left out: %v", err)
	}
	if got := worstFirst(many); got[0].Label != "worse" || got[1].Label != "differs" || got[2].Label != "shown only" {
		t.Errorf("%q, %q and %q stand first", got[0].Label, got[1].Label, got[2].Label)
	}
}
