package phases

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A simulation of session expiry: a message of the client arrived up to a third of the timeout before
// the crash, its follower reports it within half a tick, and the leader rounds up to its next tick
// (ExpiryQueue.java).
func TestAdvise_boundsTheSimulation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }
	for _, o := range []AdviceOptions{
		{Promise: 8 * time.Second, Tick: 500 * time.Millisecond}, {Promise: 15 * time.Second, Tick: 2 * time.Second}, {Promise: 60 * time.Second, Tick: 3 * time.Second},
	} {
		a, err := Advise(o)
		if err != nil {
			t.Fatal(err)
		}
		if a.Most > o.Promise || a.Timeout < 2*o.Tick {
			t.Errorf("%+v: %+v", o, a)
		}
		const rounds = 1000
		var sum time.Duration
		for range rounds {
			touched := -upTo(a.Timeout/3) + upTo(o.Tick/2)
			phase := upTo(o.Tick)
			expires := (touched + a.Timeout + phase + o.Tick - 1) / o.Tick * o.Tick
			took := expires - phase
			sum += took
			if took < a.Least || took+upTo(defaultSlack) > a.Most {
				t.Errorf("promise %v: %v is not within %v and %v", o.Promise, took, a.Least, a.Most)
			}
		}
		if mean := sum / rounds; math.Abs(float64(mean-a.Mean)) > 0.05*float64(a.Mean) {
			t.Errorf("promise %v: the mean is %v, predicted %v", o.Promise, mean, a.Mean)
		}
	}
}

func TestAdvise(t *testing.T) {
	o := AdviceOptions{Promise: 15 * time.Second, Tick: 2 * time.Second, Pauses: []Pause{{9 * time.Second, 2}, {5 * time.Second, 100}, {time.Minute, 1}}}
	a, err := Advise(o)
	if err != nil {
		t.Fatal(err)
	}
	if want := 11500 * time.Millisecond; a.Timeout != want || a.Most != 15*time.Second || a.WithElection != 18*time.Second {
		t.Errorf("%+v", a)
	}
	// Of pauses of 9 s, those that begin more than 2.5 s after a ping end the session.
	if p := (9 - 2*11.5/3) / (11.5 / 3); math.Abs(a.Lost-(2*p+1)) > 1e-6 {
		t.Errorf("%v losses per hour, want %v", a.Lost, 2*p+1)
	}
	o.Election = true
	if b, err := Advise(o); err != nil || b.Timeout != a.Timeout-electionLimit || b.WithElection != o.Promise {
		t.Errorf("with an election: %+v, %v", b, err)
	}
	if b, err := Advise(AdviceOptions{Promise: 5 * time.Minute, Tick: time.Second}); err != nil || b.Timeout != 20*time.Second {
		t.Errorf("a session timeout has at most 20 ticks: %+v, %v", b, err)
	}
	if _, err := Advise(AdviceOptions{Promise: 7 * time.Second, Tick: 2 * time.Second}); err == nil || !strings.Contains(err.Error(), "use a shorter tick") {
		t.Errorf("7 s with ticks of 2 s: %v", err)
	}
	if b, err := Advise(AdviceOptions{Promise: 1690 * time.Millisecond, Tick: 333 * time.Millisecond}); err != nil || b.Timeout != 666*time.Millisecond || b.Most > 1690*time.Millisecond {
		t.Errorf("a timeout of two ticks keeps the promise: %+v, %v", b, err)
	}
}
