package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
)

func TestCause_predictsByTheFormulas(t *testing.T) {
	const T, tick, slack = 4 * time.Second, 2 * time.Second, 500 * time.Millisecond
	for _, row := range []struct {
		cause       string
		unheard     time.Duration
		onLeader    bool
		least, most time.Duration
		mean        time.Duration
	}{
		{"release", 0, false, 0, slack, 0},
		{"expel", time.Second, false, 0, slack, 0},
		{"crash", 0, false, T, 7500 * time.Millisecond, 4833333334},
		{"crash", time.Second, true, 3 * time.Second, 7500 * time.Millisecond, 4333333334},
		{"freeze", time.Hour, false, 0, 7500 * time.Millisecond, 4833333334},
		{"server.kill", time.Second, false, 0, 7500 * time.Millisecond, 0},
		{"leader.kill", time.Second, false, 0, 7500*time.Millisecond + electLimit, 0},
		{"crash+leader.kill", time.Second, false, 3 * time.Second, 7500*time.Millisecond + electLimit, 0},
	} {
		got := causes[row.cause].predict(T, tick, row.unheard, slack, row.onLeader)
		if got.least != row.least || got.most != row.most || got.mean != row.mean {
			t.Errorf("%s, unheard for %v: %+v, want %v to %v, mean %v", row.cause, row.unheard, got, row.least, row.most, row.mean)
		}
	}
}

func TestCauses_haveKnownFaults(t *testing.T) {
	for _, name := range causeNames() {
		for _, fault := range causes[name].faultNames() {
			if _, err := chaos.Parse(fault, "", nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestFailover_refusesWhatMakesNoSense(t *testing.T) {
	for _, row := range []struct{ name, phase, want string }{
		{"a cause and rounds are all it needs", "cause: crash, rounds: 3", ""},
		{"no rounds leave it out", "cause: leader.kill, rounds: 0", ""},
		{"the cause must be one", "cause: crush, rounds: 3", `did you mean "crash"`},
		{"the cause is the fault", "cause: crash, rounds: 1, faults: [{at: 0s, fault: session.close}]", "no faults of its own choice"},
		{"rounds end it, not a time", "cause: crash, rounds: 1, duration: 3s", "give rounds"},
		{"rounds are not negative", "cause: crash, rounds: -1", "-1 is not between 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Load("x", fmt.Appendf(nil, "{name: x, subjects: [lock/parent], clients: [4], session_timeout: 4s, phases: [{name: p, kind: failover, hold: 1ms, %s}]}", row.phase))
			switch {
			case row.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}

func TestPhase_memberFaultsAreThoseOfItsKindToo(t *testing.T) {
	for _, row := range []struct {
		name  string
		phase Phase
		want  string
	}{
		{"a crash touches no member", Phase{Kind: "failover", Cause: "crash", Rounds: 1}, ""},
		{"a killed leader is one", Phase{Kind: "failover", Cause: "leader.kill", Rounds: 1}, "member.kill"},
		{"a phase without rounds touches nobody", Phase{Kind: "failover", Cause: "leader.kill"}, ""},
		{"a churn has those that it plans", Phase{Kind: "churn", Faults: []Fault{{Fault: "session.close"}, {Fault: "partition.split"}}}, "partition.split"},
	} {
		if got := strings.Join(row.phase.memberFaults(), " "); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
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
		if err := causes[row.cause].lacking(e); (err != nil) != row.lacks {
			t.Errorf("%s with %d members: %v", row.cause, row.members, err)
		}
	}
}
