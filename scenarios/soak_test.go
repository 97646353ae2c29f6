package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// soakTrials is how many trials a soak has where nobody says.
const soakTrials = 6

// TestSoak_findsNothing tries recipes against faults at random moments, trial after trial on one
// ensemble. Everything about a trial follows from its seed.
//
//	SOAK=500 go test ./scenarios -run TestSoak_findsNothing -v -timeout 3h    # seeds 1 to 500
//	SOAK=1 SOAK_SEED=17 go test ./scenarios -run TestSoak_findsNothing -v     # seed 17 once more
//	SOAK_SUBJECT=lock/go-zookeeper go test ./scenarios -run TestSoak_findsNothing -v    # of these recipes alone, by commas
//
// A broken guarantee fails it, and so does a trial that does not end and an unknown
// that nothing explains. The run folder of such a trial is kept.
func TestSoak_findsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	trials, first := soakNumber(t, "SOAK", soakTrials), soakNumber(t, "SOAK_SEED", 1)
	subjects := soaked
	if names := os.Getenv("SOAK_SUBJECT"); names != "" {
		subjects = strings.Split(names, ",")
	}
	t.Parallel()
	s := newSoak(t, startEnsemble(t, ensembles.Options{Members: 3, Tick: 500 * time.Millisecond}), subjects)
	start := time.Now()
	for seed := first; seed < first+trials; seed++ {
		s.try(seed)
	}
	t.Logf("%d trials in %v", trials, time.Since(start).Round(time.Second))
	for _, what := range slices.Sorted(maps.Keys(s.tally)) {
		t.Logf("%5d %s", s.tally[what], what)
	}
}

// A soak that finds nothing says something only if it finds what is there: recipes that
// are broken fail it within a few trials, each by a verdict.
func TestSoak_findsBrokenRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 20 seconds")
	}
	const most = 20
	for _, subject := range []string{"zoo/worker-unsorted", "zoo/cleanup-missing"} {
		t.Run(subject, func(t *testing.T) {
			s := newSoak(t, ensemble, []string{subject})
			for seed := range uint64(most) {
				trial, _ := s.run(seed, t.TempDir())
				for _, v := range trial.Verdicts {
					if v.Result == report.Fail {
						t.Logf("trial %d: %s: %q", seed+1, v.Guarantee, v.Reasons[0])
						return
					}
				}
			}
			t.Errorf("no verdict failed in %d trials", most)
		})
	}
}

// newSoak prepares trials of the subjects.
func newSoak(t *testing.T, e *ensembles.Ensemble, subjects []string) *soak {
	network, err := network.Open(t.Context(), e)
	switch {
	case errors.Is(err, chaos.ErrSkipped):
		t.Logf("without network faults: %v", err)
	case err != nil:
		t.Fatal(err)
	default:
		t.Cleanup(func() { must(t, network.Close(context.Background())) })
	}
	s := &soak{t: t, ensemble: e, network: network, subjects: subjects, tally: map[string]int{}}
	var without []string
	s.kinds, without = soakFaults(network != nil, len(e.Members))
	t.Logf("%d faults; left out of a soak here: %s", len(s.kinds), strings.Join(without, ", "))
	return s
}

func soakNumber(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s=%s: it is a number", variable, text)
	}
	return n
}

type soak struct {
	t        *testing.T
	ensemble *ensembles.Ensemble
	network  *network.Network
	subjects []string
	kinds    []chaos.Kind
	tally    map[string]int // verdicts, and explained unknowns by their reason
}

// try runs the seed's trial and judges it.
func (s *soak) try(seed uint64) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("zkbench-soak-%d-*", seed))
	must(s.t, err)
	start := time.Now()
	_, wrong := s.run(seed, dir)
	took := time.Since(start).Round(10 * time.Millisecond)
	if len(wrong) == 0 {
		os.RemoveAll(dir)
		s.t.Logf("seed %d: %v", seed, took)
		return
	}
	s.t.Errorf("seed %d, after %v:\n  %s\nkept in %s; once more:\nSOAK=1 SOAK_SEED=%d SOAK_SUBJECT=%s go test ./scenarios -run TestSoak_findsNothing -v",
		seed, took, strings.Join(wrong, "\n  "), dir, seed, strings.Join(s.subjects, ","))
}

// run returns the seed's trial, and what is wrong with it.
func (s *soak) run(seed uint64, dir string) (trial report.Trial, wrong []string) {
	text := drawSoak(seed, s.kinds, s.subjects)
	must(s.t, os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(text), 0o644))
	r := newRunner(s.t)
	r.ensemble, r.network, r.Seed, r.Dir = s.ensemble, s.network, seed, dir
	if err := r.begin(s.t.Context(), s.t, text); err != nil {
		wrong = append(wrong, fmt.Sprintf("it did not end well: %v", err))
	}
	names, err := report.TrialNames(dir)
	must(s.t, err)
	h, err := history.Open(report.HistoryPath(dir, strings.Join(names, " ")))
	if err != nil {
		return trial, append(wrong, err.Error())
	}
	trial = report.EvaluateHistory(h).Trial
	if len(trial.Verdicts) == 0 || len(trial.Faults) == 0 {
		wrong = append(wrong, fmt.Sprintf("%d verdicts on %d faults: nothing was tried", len(trial.Verdicts), len(trial.Faults)))
	}
	return trial, append(wrong, s.judge(trial)...)
}

// judge returns every verdict that is neither a pass nor an explained unknown.
func (s *soak) judge(trial report.Trial) (wrong []string) {
	for _, v := range trial.Verdicts {
		why := explained(v)
		switch {
		case !verdict.IsChecked(v.Result):
			s.tally[v.Result]++
		case v.Result == report.Pass:
			s.tally["pass"]++
		case v.Result == report.Unknown && why != "":
			s.tally["unknown: "+v.Guarantee+": "+why]++
		default:
			wrong = append(wrong, fmt.Sprintf("%s: %s is %s: %q", trial.Subject, v.Guarantee, v.Result, v.Reasons))
		}
	}
	return wrong
}

// excuses are the unknowns that a soak must expect: what cannot be said for reasons
// that lie in the trial, and not in the recipe. A reason that is not here fails it.
var excuses = []struct {
	guarantee string
	reason    *regexp.Regexp
	why       string
}{
	{"fault-proof", regexp.MustCompile(`no proven effect`), "the fault had no effect that could be proven"},
	{"fault-proof", regexp.MustCompile(`no proven effect|context (deadline exceeded|canceled)`), "the phase ended before the fault was proven"},
	{"harness-health", regexp.MustCompile(`.`), "the machine was busy, and times say little"},
	{"fan-out", regexp.MustCompile(`none had a hand-off without a fault nearby$`), "a fault was too near for counting"},
	{"progress", regexp.MustCompile(`had no session\. Without the faults and the recovery from them, that time does not exceed the limit`), "a fault was too near for waiting any longer after it"},
	{"no-loss", regexp.MustCompile(`takes had no reply and may have taken them$`), "a take without a reply may have taken what is missing"},
}

// explained says why the verdict is unknown: every reason of it must be an excuse. For
// a fault that may still be in force there is none.
func explained(v report.Verdict) (why string) {
	if strings.Contains(strings.Join(v.Reasons, "\n"), chaos.ErrNotHealed.Error()) {
		return ""
	}
	for _, e := range excuses {
		if e.guarantee == v.Guarantee && len(v.Reasons) > 0 && !slices.ContainsFunc(v.Reasons, func(r string) bool { return !e.reason.MatchString(r) }) {
			return e.why
		}
	}
	return ""
}

func TestExplained_byExcusesAlone(t *testing.T) {
	for _, row := range []struct {
		name string
		v    report.Verdict
		want bool
	}{
		{"a fault without effect", report.Verdict{Guarantee: "fault-proof", Reasons: []string{"x: no proven effect: y"}}, true},
		{"a fault that did not heal as well", report.Verdict{Guarantee: "fault-proof", Reasons: []string{"x: no proven effect: y; not healed: z"}}, false},
		{"one that the phase's end overtook", report.Verdict{Guarantee: "fault-proof", Reasons: []string{"x: no proven effect: y", "z: context deadline exceeded"}}, true},
		{"one that is not available here", report.Verdict{Guarantee: "fault-proof", Reasons: []string{"skipped: no root"}}, false},
		{"a fault in the last seconds of a phase", report.Verdict{Guarantee: "progress", Reasons: []string{`nothing was granted for the last 3.742s in phase "blows", while a client waited or had no session. Without the faults and the recovery from them, that time does not exceed the limit of 3.5s`}}, true},
		{"nothing granted, and no fault near", report.Verdict{Guarantee: "progress", Reasons: []string{`nothing was granted for the last 9s in phase "blows", without a fault, while a client waited: the phase ended too early to decide (the limit is 3.5s)`}}, false},
		{"a reason of another guarantee", report.Verdict{Guarantee: "fifo", Reasons: []string{"no proven effect"}}, false},
		{"no reason at all", report.Verdict{Guarantee: "harness-health"}, false},
		{"a queue that never ran empty", report.Verdict{Guarantee: "no-loss", Reasons: []string{"2 items were put and not taken, but the queue was not drained: they may still be in it"}}, false},
	} {
		if got := explained(row.v); (got != "") != row.want {
			t.Errorf("%s: explained by %q", row.name, got)
		}
	}
}
