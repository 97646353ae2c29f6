package scenarios

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// soaked are the recipes that a soak tries, each as much as the others.
var soaked = []string{
	"lock/parent", "lock/predecessor", "election/parent", "election/predecessor", "queue/parent", "queue/predecessor",
}

// soakFaults are all faults that can be had with so many members of our own, and the
// names of those that cannot. link.delay and disk.slow are never among them: a seed must draw the same
// whether or not a kernel has netem, and a soak's members have ordinary disks.
func soakFaults(network bool, members int) (kinds []chaos.Kind, without []string) {
	var able chaos.Abilities
	able.Delay, able.Disks = errors.New("not in a soak"), errors.New("not in a soak")
	if !network {
		able.Docker, able.Filter = chaos.ErrSkipped, chaos.ErrSkipped
	}
	for _, k := range chaos.Catalogue() {
		ring := k.Name == "partition.ring" && members < 4
		versions := k.Name == chaos.MemberUpgrade                                         // takes two; a soak has one
		if k.CheckMachine(able) != nil || ring || versions || chaos.NeedsDriver(k.Name) { // its subjects run in our process
			without = append(without, k.Name)
			continue
		}
		kinds = append(kinds, k)
	}
	return kinds, without
}

// soakTimeout is the shortest session timeout that members with a tick of 500 ms grant.
const soakTimeout = time.Second

// soakLasts is how long a churn lasts for faults that take effect only after the
// members have done something: expired a session, elected, started.
var soakLasts = map[string]time.Duration{
	"session.expire": 3500 * time.Millisecond, "partition.leader": 4 * time.Second,
	"member.restart": 5 * time.Second, memberRolling: 14 * time.Second,
}

// memberRolling fills its trial: another fault beside it would stop it.
const memberRolling = "member.rolling"

// drawSoak draws a trial: recipe, load, one fault or two that overlap, and their
// moments. Consecutive seeds go through all pairs of a recipe and a fault; the rest is
// chance. Afterwards, whatever
// happened, all clients of a lock must get in line and two hand-offs must follow, with
// no fault in force. A queue proves as much at the end of its churn, which lasts until
// it is empty.
func drawSoak(seed uint64, kinds []chaos.Kind, subjects []string) string {
	r := rand.New(rand.NewPCG(seed, 0))
	n := uint64(len(kinds))
	first, lasts := kinds[seed%n], 1200*time.Millisecond
	subject := subjects[(seed%n+seed/n)%uint64(len(subjects))]
	var faults []string
	add := func(k chaos.Kind) {
		text, until := drawSoakFault(r, k)
		faults = append(faults, text)
		lasts = max(lasts, until, soakLasts[k.Name])
	}
	add(first)
	if second := kinds[r.IntN(len(kinds))]; r.IntN(3) == 0 && first.Name != memberRolling && second.Name != memberRolling {
		add(second)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "name: soak-%d\nsubjects: [%s]\nclients: [%d]\nsession_timeout: %v\nphases:\n", seed, subject, 3+r.IntN(4), soakTimeout)
	fmt.Fprintf(&text, "  - name: blows\n    kind: churn\n    duration: %v\n    hold: %dms\n    faults:\n", lasts, r.IntN(15))
	for _, f := range faults {
		fmt.Fprintf(&text, "      - %s\n", f)
	}
	if !strings.HasPrefix(subject, "queue/") {
		text.WriteString("  - {name: after, kind: failover, cause: release, rounds: 2, hold: 1ms}\n")
	}
	return text.String()
}

// drawSoakFault draws a fault's moment, victim and parameters, and says until when the
// phase has to last. What befalls members may last for longer than sessions live.
func drawSoakFault(r *rand.Rand, k chaos.Kind) (text string, until time.Duration) {
	ms := func(from, to int) string { return fmt.Sprintf("%dms", from+r.IntN(to-from)) }
	lasts := ms(100, 600)
	if k.TouchesMembers() && k.Name != memberRolling && r.IntN(2) == 0 {
		lasts, until = ms(1200, 2400), 4*time.Second
	}
	f := fmt.Sprintf("{at: %s, for: %s, fault: %s", ms(150, 450), lasts, k.Name)
	// Three members have no observer, a minority of them is a follower, and without a majority
	// nothing goes on.
	if targets := slices.DeleteFunc(slices.Clone(k.Targets), func(who string) bool {
		return who == chaos.Observer || who == chaos.Minority || who == chaos.Majority
	}); len(targets) > 0 {
		f += ", target: " + targets[r.IntN(len(targets))]
	}
	params := map[string]string{"within": "600ms", "delay": ms(20, 600), "percent": fmt.Sprint(10 + r.IntN(50)), "down": ms(50, 300)}
	choices := map[string][]string{"direction": {"in", "out"}, "keep": {"true", "false"}}
	var given []string
	for _, p := range k.Params {
		if c := choices[p.Name]; c != nil {
			params[p.Name] = c[r.IntN(len(c))]
		}
		if v := params[p.Name]; v != "" {
			given = append(given, fmt.Sprintf("%s: %q", p.Name, v))
		}
	}
	if len(given) > 0 {
		f += ", params: {" + strings.Join(given, ", ") + "}"
	}
	return f + "}", until
}

func TestDrawSoak_meetsEveryPair(t *testing.T) {
	kinds, without := soakFaults(true, 3)
	if len(kinds)+len(without) != len(chaos.Catalogue()) {
		t.Fatalf("%d faults and %d without", len(kinds), len(without))
	}
	tried := map[string]bool{}
	for seed := range uint64(len(kinds) * len(soaked)) {
		text := drawSoak(seed, kinds, soaked)
		if text != drawSoak(seed, kinds, soaked) {
			t.Fatalf("seed %d gives two different trials", seed)
		}
		s, err := spec.Load("soak", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for _, f := range s.Phases[0].Faults {
			tried[s.Subjects[0]+" "+f.Fault] = true
		}
	}
	for _, subject := range soaked {
		for _, k := range kinds {
			if !tried[subject+" "+k.Name] {
				t.Errorf("%s never meets %s", subject, k.Name)
			}
		}
	}
	if got, _ := soakFaults(false, 3); slices.ContainsFunc(got, func(k chaos.Kind) bool { return strings.HasPrefix(k.Name, "partition.") }) {
		t.Error("networks are cut where nobody can")
	}
}
