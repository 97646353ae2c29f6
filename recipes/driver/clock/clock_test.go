package clock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// other is a clock that was ahead by some time at start, and runs too fast.
type other struct {
	start   time.Time
	ahead   time.Duration
	tooFast float64
}

func (o other) at(t time.Time) int64 {
	since := t.Sub(o.start)
	return int64(o.ahead) + int64(since) + int64(float64(since)*o.tooFast)
}

// trip reads the clock at t, in a round trip of which so much lay before and after.
func (o other) trip(t time.Time, there, back time.Duration) Trip {
	return Trip{Sent: t.Add(-there), Got: t.Add(back), Before: -2, After: -1, Now: o.at(t)}
}

// Whatever two clocks differ by, and however they drift: the truth is never further from what
// the map says than it admits.
func TestMap_knowsHowWrongItMayBe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		start := time.Now()
		o := other{start, time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(rt, "ahead")), rapid.Float64Range(-500e-6, 500e-6).Draw(rt, "too fast")}
		length := rapid.Custom(func(rt *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(int64(10*time.Microsecond), int64(20*time.Millisecond)).Draw(rt, "ns"))
		})
		var m Map
		m.SetRemote()
		at := start
		for range rapid.IntRange(1, 150).Draw(rt, "round trips") {
			at = at.Add(time.Duration(rapid.Int64Range(int64(50*time.Millisecond), int64(2*time.Second)).Draw(rt, "pause")))
			m.Add(o.trip(at, length.Draw(rt, "there"), length.Draw(rt, "back")))
		}
		for range 5 {
			truth := at.Add(time.Duration(rapid.Int64Range(-int64(3*time.Minute), int64(time.Minute)).Draw(rt, "when")))
			got, wrong := m.At(o.at(truth))
			if off := got.Sub(truth).Abs(); off > wrong+time.Microsecond { // floats
				rt.Fatalf("it is off by %v, and says at most %v", off, wrong)
			}
		}
	})
}

// A drift of 200 ppm is learned: what a round trip of 200 µs leaves open does not grow with it.
func TestMap_learnsTheDrift(t *testing.T) {
	start := time.Now()
	o := other{start, 5 * time.Second, 200e-6}
	var m Map
	m.SetRemote()
	for i := range 60 {
		m.Add(o.trip(start.Add(time.Duration(i)*time.Second), 100*time.Microsecond, 100*time.Microsecond))
	}
	truth := start.Add(60 * time.Second) // a second after the last
	got, wrong := m.At(o.at(truth))
	if wrong > 150*time.Microsecond {
		t.Errorf("it says that it may be wrong by %v", wrong)
	}
	if off := got.Sub(truth).Abs(); off > wrong {
		t.Errorf("it is off by %v, and says at most %v", off, wrong)
	}
	var one Map
	one.SetRemote()
	one.Add(o.trip(start, 100*time.Microsecond, 100*time.Microsecond))
	if _, wrong := one.At(o.at(truth)); wrong < 10*time.Millisecond {
		t.Errorf("after one round trip a minute ago it says %v: nobody can know the drift", wrong)
	}
}

// A clock that is this machine's is exact; another's that shows the same is not taken for it.
func TestMap_takesThisMachinesClockForOurs(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		var m Map
		if elsewhere {
			m.SetRemote()
		}
		before, sent := Monotonic(), time.Now()
		now := Monotonic()
		m.Add(Trip{Sent: sent, Got: time.Now(), Before: before, After: Monotonic(), Now: now})
		if _, wrong := m.At(now); (wrong > 0) != elsewhere {
			t.Errorf("elsewhere %v: it may be wrong by %v", elsewhere, wrong)
		}
	}
}

func TestNewOwn(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "5s": 5 * time.Second, "-2s,200ppm": -2 * time.Second} {
		before := Monotonic()
		o, err := NewLocalClock(text)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if ahead := time.Duration(o.At(now) - before); ahead < want || ahead > want+time.Minute {
			t.Errorf("%q: it is ahead by %v", text, ahead)
		}
		hour := time.Duration(o.At(now.Add(time.Hour)) - o.At(now))
		if more := hour - time.Hour; text == "-2s,200ppm" && (more < 719*time.Millisecond || more > 721*time.Millisecond) {
			t.Errorf("%q: an hour lasts %v", text, hour)
		}
	}
	for _, text := range []string{"5", "5s,fast", ",200ppm"} {
		if _, err := NewLocalClock(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
