package phases

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
)

func TestCause_predictsByTheFormulas(t *testing.T) {
	const T, tick, slack = 4 * time.Second, 2 * time.Second, 500 * time.Millisecond
	for _, row := range []struct {
		cause            string
		sinceLastMessage time.Duration
		onLeader         bool
		least, most      time.Duration
		mean             time.Duration
	}{
		{"release", 0, false, 0, slack, 0},
		{"expel", time.Second, false, 0, slack, 0},
		{"crash", 0, false, T, 7500 * time.Millisecond, 4833333334},
		{"crash", time.Second, true, 3 * time.Second, 7500 * time.Millisecond, 4333333334},
		{"freeze", time.Hour, false, 0, 7500 * time.Millisecond, 4833333334},
		{"server.kill", time.Second, false, 0, 7500 * time.Millisecond, 0},
		{"leader.kill", time.Second, false, 0, 7500*time.Millisecond + electionLimit, 0},
		{"crash+leader.kill", time.Second, false, 3 * time.Second, 7500*time.Millisecond + electionLimit, 0},
	} {
		got := Causes[row.cause].predict(T, tick, row.sinceLastMessage, slack, row.onLeader)
		if got.least != row.least || got.most != row.most || got.mean != row.mean {
			t.Errorf("%s, sinceLastMessage for %v: %+v, want %v to %v, mean %v", row.cause, row.sinceLastMessage, got, row.least, row.most, row.mean)
		}
	}
}

func TestCauses_haveKnownFaults(t *testing.T) {
	for _, name := range causeNames() {
		for _, fault := range Causes[name].faultNames() {
			if _, err := chaos.Parse(fault, "", nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Where the death of a member takes the majority with it, nobody can be granted by any recipe.
func TestCause_lacking(t *testing.T) {
	for _, row := range []struct {
		cause   string
		members int
		lacks   bool
	}{{"server.kill", 1, true}, {"leader.kill", 2, true}, {"crash+leader.kill", 2, true}, {"server.kill", 3, false}, {"leader.kill", 4, false}, {"crash", 1, false}} {
		e := &ensembles.Ensemble{}
		for range row.members {
			e.Members = append(e.Members, &ensembles.Member{})
		}
		if err := Causes[row.cause].CheckAvailable(e); (err != nil) != row.lacks {
			t.Errorf("%s with %d members: %v", row.cause, row.members, err)
		}
	}
}
