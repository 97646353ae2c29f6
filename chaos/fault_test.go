package chaos

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

func TestFaults_areInForceUntilTheyHeal(t *testing.T) {
	othersElect := func(t *testing.T, e *ensembles.Ensemble, m *ensembles.Member) {
		_, err := awaitNewLeader(t.Context(), e, m)
		must(t, err)
	}
	keepsLeader := func(t *testing.T, e *ensembles.Ensemble, m *ensembles.Member) {
		if l, err := ensembles.Leader(t.Context(), e); err != nil || l == m {
			t.Errorf("a follower's loss cost the leader: %v, %v", l, err)
		}
	}
	nobodyLeads := func(t *testing.T, e *ensembles.Ensemble, _ *ensembles.Member) {
		within(t, 30*time.Second, "nobody leads", func() bool {
			_, err := ensembles.Leader(t.Context(), e)
			return err != nil
		})
	}
	losesQuorum := func(t *testing.T, e *ensembles.Ensemble, m *ensembles.Member) {
		within(t, 30*time.Second, "it loses its quorum", func() bool {
			return !ensembles.Status(t.Context(), e)[m.ID-1].Serves()
		})
	}
	isSilent := func(t *testing.T, _ *ensembles.Ensemble, m *ensembles.Member) {
		if reachable(t.Context(), m, 100*time.Millisecond) {
			t.Error("it answers")
		}
	}
	for _, row := range []struct {
		fault, target string
		params        []string
		connects      bool // the member's kernel still accepts connections
		effect        func(*testing.T, *ensembles.Ensemble, *ensembles.Member)
	}{
		{"member.kill", Leader, nil, false, othersElect},
		{"member.stop", Follower, nil, false, keepsLeader},
		{"member.pause", Follower, nil, true, isSilent},
		{"member.pause", Majority, nil, true, nobodyLeads},
		{"partition.peers", Leader, nil, true, losesQuorum},
		{"partition.oneway", Follower, []string{"direction", network.In}, true, losesQuorum},
		{"partition.oneway", Follower, []string{"direction", network.Out}, true, losesQuorum},
		{"partition.split", Leader, nil, true, othersElect},
	} {
		t.Run(fmt.Sprint(row.fault, " ", row.target, row.params), func(t *testing.T) {
			target := shared(t)
			if strings.HasPrefix(row.fault, "partition.") {
				target = cuttable(t)
			}
			e := inject(t, parse(t, row.fault, row.target, row.params...), target)
			m := hit(t, target, e)
			if connectsTo(m.Addr) != row.connects {
				t.Errorf("%s accepts connections: %v", m.Name, !row.connects)
			}
			row.effect(t, target.Ensemble, m)
			heal(t, target, e)
		})
	}
}

func TestFaults_areRefusedWhereTheyCannotWork(t *testing.T) {
	target := shared(t)
	members := target.Ensemble.Members
	foreign := *members[0]
	foreign.Machine = nil
	only := func(members ...*ensembles.Member) Target {
		return Target{Ensemble: &ensembles.Ensemble{Members: members}, Network: target.Network}
	}
	theirs := only(&foreign)
	oneMember, twoMembers, unreachable := only(members[0]), only(members[:2]...), Target{Ensemble: shaped(1, 0)}
	noNetwork, oneVersion := Target{Ensemble: target.Ensemble}, Target{Ensemble: &ensembles.Ensemble{}}
	twoVersions := Target{Ensemble: &ensembles.Ensemble{Versions: []ensembles.Version{{Name: "a"}, {Name: "b"}}}}
	inProcess := connect(t, target, 1, 10*time.Second).Target
	for _, row := range []struct {
		fault, target string
		where         Target
		early         bool // CheckEnsemble refuses it too
		is            error
		text          string
	}{
		{"member.kill", Any, theirs, true, ensembles.ErrNotOurs, ""},
		{"member.stop", Any, theirs, true, ensembles.ErrNotOurs, ""},
		{"member.pause", Any, theirs, true, ensembles.ErrNotOurs, ""},
		{"member.restart", Any, theirs, true, ensembles.ErrNotOurs, ""},
		{"member.kill", Minority, unreachable, false, ErrSkipped, ""},
		{"member.kill", Observer, unreachable, false, ErrSkipped, ""},
		{"member.upgrade", "", oneVersion, true, ErrSkipped, "--image OLD,NEW or --zookeeper-home OLD,NEW"},
		{"member.upgrade", "", twoVersions, false, nil, `no version "c"`},
		{"partition.peers", Any, oneMember, false, ErrSkipped, ""},
		{"partition.leader", "", twoMembers, false, ErrSkipped, ""},
		{"partition.isolate", "zk1", noNetwork, true, ErrSkipped, ""},
		{"partition.isolate", "zk9", noNetwork, true, nil, "zk9"},
		{"client.pause", "0", inProcess, false, ErrSkipped, "run the subject as a driver"},
		{"client.kill", "0", inProcess, false, ErrSkipped, "run the subject as a driver"},
		{"client.restart", "0", inProcess, false, ErrSkipped, "run the subject as a driver"},
		{"session.storm", "", Target{}, false, ErrNoEffect, ""},
	} {
		t.Run(row.fault+" "+row.target+row.text, func(t *testing.T) {
			var params []string
			if row.fault == "member.upgrade" {
				params = []string{"to", "c"}
			}
			_, err := parse(t, row.fault, row.target, params...).Inject(t.Context(), row.where)
			if err == nil {
				t.Fatal("it was injected")
			}
			if text := err.Error(); !strings.HasPrefix(text, row.fault+": ") || !strings.Contains(text, row.text) {
				t.Errorf("got %v", err)
			}
			skipped := errors.Is(err, ErrSkipped)
			if row.is != nil && !errors.Is(err, row.is) || row.is == ensembles.ErrNotOurs && !skipped {
				t.Errorf("got %v", err)
			}
			if row.early && CheckEnsemble(t.Context(), row.fault, row.where) == nil {
				t.Error("it is not known before")
			}
		})
	}
	if !connectsTo(members[0].Addr) {
		t.Error("the member was harmed")
	}
}

func TestSettings_readsValues(t *testing.T) {
	for _, row := range []struct {
		name, value string
		read        func(s settings) any
		want        any // nil: an error
	}{
		{"a duration", "1.5s", func(s settings) any { return s.duration("x") }, 1500 * time.Millisecond},
		{"a duration before now", "-1s", func(s settings) any { return s.duration("x") }, nil},
		{"a number at its least", "1", func(s settings) any { return s.number("x", 1, 3) }, 1},
		{"a number at its most", "3", func(s settings) any { return s.number("x", 1, 3) }, 3},
		{"a number over its most", "4", func(s settings) any { return s.number("x", 1, 3) }, nil},
		{"half a number", "1.5", func(s settings) any { return s.number("x", 1, 3) }, nil},
		{"a share", "0.5", func(s settings) any { return s.percent("x") }, 0.5},
		{"a share of nothing", "0", func(s settings) any { return s.percent("x") }, nil},
		{"not a number at all", "NaN", func(s settings) any { return s.percent("x") }, nil},
		{"infinity", "Inf", func(s settings) any { return s.percent("x") }, nil},
		{"true", "true", func(s settings) any { return s.boolean("x") }, true},
		{"yes", "yes", func(s settings) any { return s.boolean("x") }, nil},
		{"one of the words", "b", func(s settings) any { return s.choice("x", "a", "b") }, "b"},
		{"none of the words", "c", func(s settings) any { return s.choice("x", "a", "b") }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := Kind{Params: []Param{{Name: "x", Default: "-"}}}.settings(map[string]string{"x": row.value})
			must(t, err)
			got := row.read(s)
			if row.want == nil {
				if err := s.err(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("parameter x: %q", row.value)) {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err := s.err(); err != nil || got != row.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
