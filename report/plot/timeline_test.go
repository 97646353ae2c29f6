package plot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestThin: whatever the points, the thinned ones are some of them, in order, few
// enough, and the lowest and the highest are among them.
func TestThin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 3000).Draw(t, "points"), rapid.IntRange(3, 400).Draw(t, "limit")
		pts := make([]xy, n)
		x := 0.0
		for i := range pts {
			x += rapid.SampledFrom([]float64{0, 0.001, 1, 50}).Draw(t, "step")
			pts[i] = xy{x, rapid.Float64Range(-1e6, 1e6).Draw(t, "y")}
		}
		got := thin(pts, limit)
		if len(got) > limit {
			t.Fatalf("%d points, more than %d", len(got), limit)
		}
		at := 0
		for _, p := range got {
			i := slices.Index(pts[at:], p)
			if i < 0 {
				t.Fatalf("%v is not one of the points, or out of order", p)
			}
			at += i + 1
		}
		byY := func(a, b xy) int {
			switch {
			case a.y < b.y:
				return -1
			case a.y > b.y:
				return 1
			}
			return 0
		}
		if n > 0 && (slices.MinFunc(got, byY).y != slices.MinFunc(pts, byY).y || slices.MaxFunc(got, byY).y != slices.MaxFunc(pts, byY).y) {
			t.Fatal("an extreme was lost")
		}
	})
}

func TestHolders_slice(t *testing.T) {
	line := sampleTimeline(100, 60, false)
	from, to, cut := slice(line)
	first := slices.MinFunc(line.Windows, func(a, b Window) int { return int(a.Start - b.Start) }).Start
	if !cut || from > first || to < first {
		t.Errorf("slice from %v to %v, cut %v; want one around the first fault at %v", from, to, cut, first)
	}
	late := line.Beliefs[len(line.Beliefs)-3]
	line.Overlaps = []Overlap{{Clients: [2]int{1, 2}, Start: line.Beliefs[9].Start, End: line.Beliefs[9].End, Exposure: true},
		{Clients: [2]int{late.Client, 99}, Start: late.Start, End: late.End}}
	from, to, _ = slice(line)
	if from > late.Start || to < late.End {
		t.Errorf("slice from %v to %v misses the violation at %v, which goes before exposure", from, to, late.Start)
	}
	rows, dropped := holderRowsOf(line, from, to)
	if !slices.Contains(rows, late.Client) || !slices.Contains(rows, 99) {
		t.Errorf("rows %v lack the clients %d and 99 of the overlap", rows, late.Client)
	}
	if len(rows) != holderRows || dropped == 0 || !slices.IsSorted(rows) {
		t.Errorf("%d rows, %d dropped; want %d in order and the rest counted", len(rows), dropped, holderRows)
	}
	short := sampleTimeline(5, 3, false)
	if _, _, cut := slice(short); cut {
		t.Error("a short trial was cut")
	}
}

// The interactive timeline draws grants from the whole trial, not all of them.
func TestHolders_saysWhereTheRestIs(t *testing.T) {
	if about := Holders(sampleTimeline(100, 60, false)).About; !strings.Contains(about, "the interactive timeline on the page covers all of it") || strings.Contains(about, "the rest") {
		t.Errorf("about: %s", about)
	}
}

func TestFormatFixed(t *testing.T) {
	if got := formatFixed(-0.001, 2); got != "0.00" {
		t.Errorf("formatFixed(-0.001, 2) = %q, want no minus before nothing", got)
	}
	if got := formatFixed(-0.12, 2); got != "-0.12" {
		t.Errorf("formatFixed(-0.12, 2) = %q", got)
	}
}

func TestExtent(t *testing.T) {
	from, to := extent(Timeline{Windows: []Window{{Start: 3 * time.Second, End: time.Second}}, Handoffs: []Handoff{{At: 5 * time.Second}}})
	if from != 3 || to != 5 {
		t.Errorf("extent %v to %v, want 3 to 5: a fault does not end before it starts", from, to)
	}
}
