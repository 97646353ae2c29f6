package stage

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// dues are all that are due in a phase.
func dues(p spec.Phase, seed uint64) (out []time.Duration) {
	a := newArrivals(&p, 0, seed)
	for {
		due, ok := a.next()
		if !ok {
			return out
		}
		out = append(out, due)
	}
}

// dueIn counts those from one instant to another.
func dueIn(all []time.Duration, from, to time.Duration) (n int) {
	for _, due := range all {
		if due >= from && due < to {
			n++
		}
	}
	return n
}

func TestArrivals_asManyAsTheRateSays(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		phase spec.Phase
		want  [4]int // in each quarter of 8 s
	}{
		{"a constant rate", spec.Phase{Rate: 100}, [4]int{200, 200, 200, 200}},
		{"a rate below one a second", spec.Phase{Rate: 0.5}, [4]int{1, 1, 1, 1}},
		{"a ramp", spec.Phase{Rate: 100, RateTo: 500}, [4]int{300, 500, 700, 900}},
		{"two steps", spec.Phase{Rate: 100, RateTo: 500, Steps: 2}, [4]int{200, 200, 1000, 1000}},
		{"five steps, of 1.6 s", spec.Phase{Rate: 100, RateTo: 500, Steps: 5}, [4]int{240, 480, 720, 960}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.phase.Duration = 8 * s
			even := dues(c.phase, 1)
			c.phase.Arrivals = spec.Poisson
			random := dues(c.phase, 1)
			for i, want := range c.want {
				from, to := time.Duration(i)*2*s, time.Duration(i+1)*2*s
				if n := dueIn(even, from, to); n < want-1 || n > want+1 {
					t.Errorf("quarter %d: %d at even distances, want %d", i, n, want)
				}
				// The seed is given: this holds always, or never.
				if n := dueIn(random, from, to); math.Abs(float64(n-want)) > 4*math.Sqrt(float64(want)) {
					t.Errorf("quarter %d: %d at random, want about %d", i, n, want)
				}
			}
			if !slices.IsSorted(even) || !slices.IsSorted(random) {
				t.Error("they are not in order")
			}
		})
	}
}

func TestArrivals_ofOneSeedAreTheSame(t *testing.T) {
	p := spec.Phase{Rate: 200, RateTo: 400, Arrivals: spec.Poisson, Duration: time.Second}
	if !slices.Equal(dues(p, 7), dues(p, 7)) {
		t.Error("the same seed gave other arrivals")
	}
	if slices.Equal(dues(p, 7), dues(p, 8)) {
		t.Error("another seed gave the same arrivals")
	}
}

// The distances of a Poisson process are as long on average as their standard deviation; those
// of a constant rate do not vary.
func TestArrivals_distances(t *testing.T) {
	for arrivals, want := range map[string]float64{spec.Constant: 0, spec.Poisson: 1} {
		all := dues(spec.Phase{Rate: 1000, Arrivals: arrivals, Duration: 20 * time.Second}, 3)
		var sum, squares float64
		for i := range all[1:] {
			d := (all[i+1] - all[i]).Seconds() * 1000
			sum, squares = sum+d, squares+d*d
		}
		n := float64(len(all) - 1)
		mean := sum / n
		if varies := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(varies-want) > 0.05 || math.IsNaN(varies) {
			t.Errorf("%s: the distances vary by %v of their mean, want %v", arrivals, varies, want)
		}
	}
}

func TestArrivals_endAtOnce(t *testing.T) {
	a := newArrivals(&spec.Phase{Rate: 10, RateTo: 20, Duration: time.Minute}, 5*time.Second, 0)
	if due, ok := a.next(); !ok || due != 5*time.Second {
		t.Errorf("the first is due at %v (%v), want the beginning", due, ok)
	}
	a.end(5*time.Second + time.Millisecond)
	if due, ok := a.next(); ok {
		t.Errorf("one is due at %v, after the end", due)
	}
}
