package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	_ "github.com/zkbench/zkbench/recipes/foreign"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestIncidents_sayWhatTheyAre(t *testing.T) {
	known := units.Names(verdict.All(), func(g verdict.Guarantee) string { return g.Name })
	shown := 0
	for _, name := range spec.Incidents() {
		s := shipped(t, name)
		if spec.IncidentPrefix+s.Name != name {
			t.Errorf("%s calls itself %q", name, s.Name)
		}
		if !strings.HasPrefix(s.Incident.Thread, "https://") || s.About == "" {
			t.Errorf("%s: thread %q, about %q", name, s.Incident.Thread, s.About)
		}
		for _, broken := range s.ExpectedViolations() {
			if !slices.Contains(known, broken) {
				t.Errorf("%s: no guarantee is called %q", name, broken)
			}
		}
		if len(s.ExpectedViolations()) > 0 {
			shown++
		}
	}
	if shown < 8 {
		t.Errorf("%d incidents show, of %d", shown, len(spec.Incidents()))
	}
}

// The lock of go-zookeeper leaves its node, each time; and what is said of a sound lock is
// seen not to show.
func TestIncident_showsOrDoesNot(t *testing.T) {
	t.Parallel()
	s := shipped(t, "incident/go-zookeeper-orphan", "tick=0s", "trials=1")
	for _, row := range []struct{ subject, want string }{{"lock/go-zookeeper", report.Pass}, {"lock/predecessor", report.Fail}} {
		s.Specimens[0].Subject = row.subject
		text, err := s.Dump()
		if err != nil {
			t.Fatal(err)
		}
		trials := runTrials(t, string(text))
		if len(trials) != 1 {
			t.Errorf("%s: %d trials, want 1", row.subject, len(trials))
		}
		for name, trial := range trials {
			if trial.Outcome() != row.want {
				t.Errorf("%s: %s, missed %v, want %s", name, trial.Outcome(), trial.Missed(), row.want)
			}
		}
	}
}

// An item stands in a queue also where the recipe keeps its items in a folder, and a place
// in a line is no item.
func TestItemless_looksIntoFolders(t *testing.T) {
	o := observer.NewObserver(ensemble, sweepTimeout, ensemble.Chroot+"/itemless")
	t.Cleanup(func() { _ = o.Close() })
	queue := o.Root
	session, err := o.Member(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		node  string
		flags int32
		want  bool
	}{
		{"", 0, true},
		{"/tickets", 0, true}, {"/tickets/n-0000000000", zk.FlagEphemeral, true},
		{"/entries", 0, true}, {"/entries/entry-0000000001", 0, false},
	} {
		if _, err := session.Create(t.Context(), queue+step.node, []byte("data"), step.flags); err != nil {
			t.Fatal(err)
		}
		got, err := o.NoItems(t.Context(), queue, &observer.Items{})
		if err != nil || got != step.want {
			t.Errorf("with %s: %v, %v, want %v", step.node, got, err, step.want)
		}
	}
	found, err := o.Nodes(t.Context(), queue)
	// Once a node has shown an item that was put, only such nodes count: not a journal, not what was taken.
	if err := session.Delete(t.Context(), queue+"/entries/entry-0000000001"); err != nil {
		t.Fatal(err)
	}
	var items observer.Items
	items.Put("0-1")
	for _, step := range []struct {
		node, data string
		want       bool
	}{
		{"/entries/entry-0000000002", `{"item":"0-1......"}`, false}, {"/journal", "", false}, {"/journal/j-0000000001", "0-7", false},
	} {
		if _, err := session.Create(t.Context(), queue+step.node, []byte(step.data), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := o.NoItems(t.Context(), queue, &items); err != nil || got != step.want {
			t.Errorf("with %s: %v, %v, want %v", step.node, got, err, step.want)
		}
	}
	items.Taken("0-1")
	if got, err := o.NoItems(t.Context(), queue, &items); err != nil || !got {
		t.Errorf("when it was taken: %v, %v", got, err)
	}
	if err != nil || !slices.ContainsFunc(found, func(n observer.Node) bool { return strings.HasSuffix(n.Path, "/entry-0000000001") }) {
		t.Errorf("in the queue: %v, %v", found, err)
	}
}

// The result of an incident says what happened to whom; that of any other scenario says nothing.
func TestIncident_isToldInTheResult(t *testing.T) {
	for name, want := range map[string]bool{"incident/go-zookeeper-orphan": true, "herd": false} {
		s := shipped(t, name)
		told := s.ReportedIncident()
		if (told != nil) != want || want && (told.About != s.About || told.Thread != s.Incident.Thread || told.Version == "" || told.Cause == "") {
			t.Errorf("%s: %+v", name, told)
		}
	}
}
