package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// uncut has members that are ours and whose networks nobody can cut.
func uncut() chaos.Target {
	e := &ensembles.Ensemble{Kind: ensembles.Process}
	for _, m := range ensemble.Members {
		e.Members = append(e.Members, &ensembles.Member{Name: m.Name, Machine: m.Machine})
	}
	return chaos.Target{Ensemble: e}
}

func TestConfig_omitUnsupported(t *testing.T) {
	_, herd, err := spec.Source("herd")
	must(t, err)
	everywhere := strings.Replace(string(herd), "session.close, target: holder", "link.delay", 1)
	for _, row := range []struct {
		name, scenario string
		text           []byte // nil: the built-in one
		set            []string
		left           string // what is left out
		said           string // beside it
	}{
		{"a default that the question can do without", "herd", nil, nil, "partition.isolate", ""},
		{"also where something else is set", "herd", nil, []string{"phases.0.rounds=1"}, "partition.isolate", ""},
		{"and where the phase is set to take longer", "herd", nil, []string{"duration=20s"}, "partition.isolate", ""},
		{"a fault that is set is asked for", "herd", nil, []string{"phases.churn.faults=[{at: 1s, fault: partition.isolate, for: 1s}]"}, "", "phases.1 (churn): partition.isolate"},
		{"one whose time is set is, too", "herd", nil, []string{"phases.1.faults.1.at=2s"}, "", "phases.1 (churn): partition.isolate"},
		{"a file asks for what it has, be it a copy", "herd.yaml", herd, nil, "", "phases.1 (churn): partition.isolate"},
		{"what a scenario is about is never left out", "partition", nil, nil, "partition.ring", "phases.0 (isolate): partition.isolate"},
		{"a target that nobody is", "herd", nil, []string{"phases.churn.faults=[{at: 1s, fault: member.kill, target: observer, for: 1s}]"}, "",
			"phases.1.faults.0 (member.kill of observer)"},
		{"where everything can be had nothing is said", "rolling", nil, nil, "", ""},
		{"a text under a built-in name is no default", "herd", []byte(everywhere), nil, "", "phases.1 (churn): link.delay"},
		{"the faults of a kind of phase can be had", "failover", nil, nil, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := row.text
			if text == nil {
				_, text, err = spec.Source(row.scenario)
				must(t, err)
			}
			s, err := spec.Load(row.scenario, text, row.set...)
			must(t, err)
			batches, err := s.Batches()
			must(t, err)
			var said []string
			c := Config{Scenario: s, Dir: t.TempDir(), Logf: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
			cells := batches[0].Cells
			left, err := c.omitUnsupported(t.Context(), uncut(), cells)
			must(t, err)
			names := units.Names(left, func(l report.SkippedFault) string { return l.Fault })
			if got := strings.Join(names, " "); got != row.left {
				t.Errorf("left out %q, want %q", got, row.left)
			}
			if len(left) > 0 && (left[0].Why == "" || strings.HasPrefix(left[0].Why, "skipped")) {
				t.Errorf("%+v says badly why", left[0])
			}
			if all := strings.Join(said, "\n"); row.said != "" && !regexp.MustCompile(regexp.QuoteMeta(row.said)+" (is not available here|has no target in this ensemble), so the run cannot pass").MatchString(all) ||
				row.said == "" && row.left == "" && all != "" {
				t.Errorf("said %q", all)
			}
			_, err = os.Stat(filepath.Join(c.Dir, report.ScenarioFile))
			if (err == nil) != (row.left != "") {
				t.Errorf("the scenario in the run folder: %v", err)
			}
			for _, cell := range cells {
				for _, p := range cell.Scenario.Phases {
					if row.left != "" && slices.Contains(p.FaultNames(), row.left) {
						t.Errorf("%s is still to be played in %s", row.left, p.Name)
					}
				}
			}
		})
	}
}

// A ring takes four members that vote. A phase that is about nothing else goes with it.
func TestPartition_hasARingOfFourOrMore(t *testing.T) {
	for voting, want := range map[int]bool{3: false, 4: true, 5: true} {
		target := chaos.Target{Ensemble: &ensembles.Ensemble{}, Network: &network.Network{}}
		for i := range voting + 2 {
			target.Ensemble.Members = append(target.Ensemble.Members, &ensembles.Member{IP: fmt.Sprintf("10.0.0.%d", i+1), Observer: i >= voting})
		}
		s := shipped(t, "partition")
		cells, err := s.Cells()
		must(t, err)
		all := len(s.Phases)
		c := Config{Scenario: s, Dir: t.TempDir(), Logf: t.Logf}
		left, err := c.omitUnsupported(t.Context(), target, cells)
		must(t, err)
		phases := cells[0].Scenario.Phases
		if want && (len(left) > 0 || len(phases) != all) {
			t.Errorf("of %d members: left out %v", voting, left)
		}
		if !want && (len(left) != 1 || !strings.Contains(left[0].Why, "of 3 members") || len(phases) != all-1) {
			t.Errorf("of %d members: left out %v; %d phases of %d", voting, left, len(phases), all)
		}
	}
}

// On an external ensemble without commands a built-in scenario leaves out what would touch members;
// what a user asks for is refused, all of it at once.
func TestRefuseExternal_sparesWhatNobodyAskedFor(t *testing.T) {
	external := ensembles.Options{Servers: []string{"zk1:2181"}}
	must(t, shipped(t, "failover").CheckExternal(external))
	err := shipped(t, "failover", "phases.server-kill.rounds=1", "phases.leader-kill.rounds=1").CheckExternal(external)
	if err == nil || !strings.Contains(err.Error(), "phases.5 (server-kill): member.kill would affect a member") || !strings.Contains(err.Error(), "phases.6 (leader-kill)") {
		t.Errorf("asked for: %v", err)
	}
	less := shipped(t, "failover").Without([]report.SkippedFault{{Phase: "server-kill", Fault: "member.kill"}})
	if len(less.Phases) != len(shipped(t, "failover").Phases)-1 || slices.ContainsFunc(less.Phases, func(p spec.Phase) bool { return p.Name == "server-kill" }) {
		t.Errorf("%d phases stay", len(less.Phases))
	}
}

func TestConfig_namesAMemberThatIsThere(t *testing.T) {
	theirs := ensembles.Options{Kind: ensembles.External, Servers: []string{"a:1", "b:1"}, External: ensembles.ExternalConfig{
		Commands: []ensembles.Commands{{Name: "left", Stop: []string{"true"}, Start: []string{"true"}}, {Stop: []string{"true"}, Start: []string{"true"}}}}}
	for _, row := range []struct {
		name, target string
		on           ensembles.Options
		want         string
	}{
		{"one of three", "zk3", ensembles.Options{}, ""},
		{"beyond the last of three", "zk9", ensembles.Options{}, `phases.0.faults.0.target: "zk9" is not a member; the members are zk1, zk2, zk3`},
		{"an observer", "zk4", ensembles.Options{Members: 3, Observers: 1}, ""},
		{"a part", "leader", ensembles.Options{}, ""},
		{"an address, known when it is up", "127.0.0.1:2181", ensembles.Options{}, ""},
		{"a name of theirs", "left", theirs, ""},
		{"an address of theirs", "b:1", theirs, ""},
		{"none of theirs", "zk1", theirs, "the members are left, zk2"},
		{"another address than theirs", "c:1", theirs, `"c:1" is not a member`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, churnOf("[3]", `{at: 1s, fault: member.kill, target: "`+row.target+`"}`))
			refused(t, Config{Scenario: s, Ensemble: row.on}.Validate(), row.want)
		})
	}
}

// churnOf is a scenario with one fault.
func churnOf(clients, fault string) string {
	return "{name: x, subjects: [lock/parent], clients: " + clients + ", session_timeout: 4s, phases: [{name: p, kind: churn, duration: 10s, hold: 1ms, faults: [" + fault + "]}]}"
}
