package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

func worst(vs []Verdict) string {
	var results []string
	for _, v := range vs {
		results = append(results, v.Result)
	}
	return Worst(results...)
}

func names(vs []Verdict) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Guarantee)
	}
	return out
}

func TestJudge_ofAnEmptyHistoryIsUnknownThroughout(t *testing.T) {
	vs := Judge(history.Of(history.Header{}))
	if !slices.Contains(names(vs), MutualExclusion) || !slices.Contains(names(vs), Readable) {
		t.Errorf("verdicts %v", names(vs))
	}
	for _, v := range vs {
		if v.Result != Unknown || len(v.Reasons) == 0 {
			t.Errorf("%+v", v)
		}
	}
}

func TestJudge_givesOnlyTheVerdictsThatWereAskedFor(t *testing.T) {
	h := story(t, "opened 1 101; acquire 1 5 0 10; fault f 1 2 3")
	h.Header.Guarantees = []string{FIFO, "fairness"}
	vs := Judge(h)
	if got := names(vs); !slices.Equal(got, []string{FIFO, Completed, Faults, HarnessHealth, Readable}) {
		t.Errorf("verdicts %v", got)
	}
	if last := vs[len(vs)-1]; last.Result != Unknown || !strings.Contains(last.Reasons[0], `"fairness"`) {
		t.Errorf("an unknown guarantee gives %+v", last)
	}
}

func TestJudge_ofADamagedHistoryKeepsFailuresAndTakesPassesBack(t *testing.T) {
	for text, exclusion := range map[string]string{
		"opened 1 101; opened 2 102; acquire 1 5 0 10; hold 2 6 15 30; release 1 5 40": Fail,
		"opened 1 101; opened 2 102; hold 1 5 10 20; hold 2 6 27 40":                   Unknown,
	} {
		s := NewSweep(story(t, ""))
		for n := range story(t, text).Records {
			s.Add(n)
		}
		for _, v := range s.Close(fmt.Errorf("%w (after record 6)", history.ErrTruncated)) {
			want, reason := Unknown, ""
			if v.Guarantee == MutualExclusion {
				want, reason = exclusion, map[string]string{Unknown: "not be read to its end"}[exclusion]
			}
			if v.Result != want || !strings.Contains(v.Reasons[0], reason) {
				t.Errorf("%+v, want %s with %q", v, want, reason)
			}
		}
	}
}

func TestEvidence_isBounded(t *testing.T) {
	var e evidence
	for i := range 100 {
		e.Add([]int{i + 1, 0}, "reason")
	}
	v := e.Fail("things")
	if len(v.Reasons) != finding.Limit+1 || v.Reasons[finding.Limit] != "and 95 more things" || len(v.Records) != finding.Limit {
		t.Errorf("%+v", v)
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		name, want string
		results    []string
	}{
		{"nothing judged is unknown", Unknown, nil},
		{"all pass", Pass, []string{Pass, Pass}},
		{"one unknown spoils a pass", Unknown, []string{Pass, Unknown, Pass}},
		{"a failure is worse than unknown", Fail, []string{Unknown, Fail, Pass}},
		{"what is not promised, or not judged, does not count", Pass, []string{Pass, NotPromised, NotJudged}},
	} {
		if got := Worst(c.results...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	// What is neither a pass nor a failure is worse than one and better than the other.
	if !(Severity(Pass) < Severity(Unknown) && Severity(Unknown) < Severity(Fail) && Severity("splendid") == Severity(Unknown) &&
		Severity(NotPromised) < Severity(Pass) && Severity(NotJudged) < Severity(Pass)) {
		t.Errorf("pass %d, unknown %d, fail %d, splendid %d", Severity(Pass), Severity(Unknown), Severity(Fail), Severity("splendid"))
	}
}

// Every guarantee that concerns the recipe has a row in every trial, whatever was done in
// it; of what is not promised the row says so.
func TestJudge_givesEveryGuaranteeThatConcernsTheRecipeARow(t *testing.T) {
	fair := []string{MutualExclusion, Fencing, FIFO, Succession, QueueFIFO} // what only a fair recipe promises
	for _, recipe := range []string{Lock, Election, Queue} {
		for _, often := range []string{"", AtLeastOnce, AtMostOnce, facts.ExactlyOnce} {
			for _, p := range []history.Promises{{Delivery: often}, {Delivery: often, FIFO: true, Exclusive: true}} {
				want := map[string]string{}
				for _, g := range All() {
					switch {
					case !slices.Contains(g.Concerns, recipe):
					case g.Name == LossNotification, !p.FIFO && slices.Contains(fair, g.Name),
						often == "" && (g.Name == NoLoss || g.Name == NoDuplicate):
						want[g.Name] = NotPromised
					default:
						want[g.Name] = ""
					}
				}
				got := map[string]string{}
				for _, v := range Judge(history.Of(history.Header{Recipe: recipe, Promises: p}, opened(1, 101))) {
					if got[v.Guarantee] = v.Result; v.Result != NotPromised {
						got[v.Guarantee] = ""
					}
				}
				if !maps.Equal(got, want) {
					t.Errorf("%s, %+v: %v, want %v", recipe, p, got, want)
				}
			}
		}
	}
}

// An item whose put has no record may have been put twice: its reply was lost behind the cut.
func TestNoDuplicate_ofAHistoryThatIsCutShort(t *testing.T) {
	for put, want := range map[string]string{"": Unknown, "put a 1; ": Fail} {
		s := NewSweep(story(t, ""))
		for n := range story(t, put+"put b 1; take a 2; take a 3").Records {
			s.Add(n)
		}
		for _, v := range s.Close(history.ErrTruncated) {
			if v.Guarantee == NoDuplicate && v.Result != want {
				t.Errorf("%q: %+v, want %s", put, v, want)
			}
		}
	}
}

func TestAll_everyGuaranteeSaysWhatItPromises(t *testing.T) {
	seen := map[string]bool{}
	last := 0
	for _, g := range All() {
		if g.Name == "" || seen[g.Name] {
			t.Errorf("%+v: a guarantee needs a name of its own", g)
		}
		seen[g.Name] = true
		if g.Order < max(last, 1) || g.Order > 12 {
			t.Errorf("%s: rule %d after rule %d; they stand in the order of the rules, of which there are twelve", g.Name, g.Order, last)
		}
		last = g.Order
		if len(g.Concerns) == 0 || g.check == nil {
			t.Errorf("%s: whom does it concern, and who checks it?", g.Name)
		}
		for _, kind := range g.Concerns {
			if !slices.Contains(anyRecipe, kind) {
				t.Errorf("%s concerns %q, which is no kind of recipe", g.Name, kind)
			}
		}
		for _, sentence := range []string{g.Promise, g.Harm} {
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s: %q is no sentence", g.Name, sentence)
			}
		}
		if found, ok := Find(g.Name); !ok || found.Order != g.Order {
			t.Errorf("%s is found as %+v", g.Name, found)
		}
		if g.Help == "" || strings.HasSuffix(g.Help, ".") {
			t.Errorf("%s: the help is a line in a list, not %q", g.Name, g.Help)
		}
	}
	if g, ok := Find(Readable); ok {
		t.Errorf("%+v is about the history, and no guarantee", g)
	}
}

// A cell that does not apply to a recipe decides nothing about it, unless it has shown a violation before.
func TestJudge_aTrialThatDoesNotApply(t *testing.T) {
	inapplicable := &history.TrialFailure{At: second, Why: "no variant", Inapplicable: true}
	for _, guarantee := range []string{ClaimValidity, MutualExclusion, Completed} {
		judgeOne(t, guarantee, list{inapplicable}, NotJudged, "no variant")
	}
	records := story(t, "opened 1 9; opened 2 8; acquire 1 5 0 10; acquire 2 6 0 10")
	var all list
	for n := range records.Records {
		all = append(all, n.Record)
	}
	judgeOne(t, MutualExclusion, append(all, inapplicable), Fail, "")
}
