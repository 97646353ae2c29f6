package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	_ "github.com/zkbench/zkbench/recipes/foreign"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios/observer"
)

// The lock of go-zookeeper leaves its node, each time; and what is said of a sound lock is
// seen not to show.
func TestIncident_showsOrDoesNot(t *testing.T) {
	t.Parallel()
	s := shipped(t, "incident/go-zookeeper-orphan", "tick=0s", "trials=1")
	for _, row := range []struct{ subject, want string }{{"lock/go-zookeeper", report.Pass}, {"lock/predecessor", report.Fail}} {
		s.Specimens[0].Subject = row.subject
		text, err := s.Dump()
		must(t, err)
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
	must(t, err)
	create := func(node, data string, flags int32, items *observer.Items, want bool) {
		t.Helper()
		_, err := session.Create(t.Context(), queue+node, []byte(data), flags)
		must(t, err)
		if none, err := o.NoItems(t.Context(), queue, items); err != nil || none != want {
			t.Errorf("with %s: no items: %v, %v, want %v", node, none, err, want)
		}
	}
	var unknown, items, encoded observer.Items
	create("", "data", 0, &unknown, true)
	create("/tickets", "data", 0, &unknown, true)
	create("/tickets/n-0000000000", "data", zk.FlagEphemeral, &unknown, true)
	encoded.Put("0-9")
	create("/4f1c", "compressed", 0, &encoded, false)
	encoded.Taken("0-9")
	create("/settings", "compressed", 0, &encoded, true)
	create("/entries", "data", 0, &unknown, true)
	create("/entries/entry-0000000001", "data", 0, &unknown, false)
	found, err := o.Nodes(t.Context(), queue)
	if err != nil || !slices.ContainsFunc(found, func(n observer.Node) bool { return strings.HasSuffix(n.Path, "/entry-0000000001") }) {
		t.Errorf("in the queue: %v, %v", found, err)
	}
	// Once a node has shown an item that was put, only such nodes count: not a journal, not what was taken.
	must(t, session.Delete(t.Context(), queue+"/entries/entry-0000000001"))
	items.Put("0-1")
	create("/entries/entry-0000000002", `{"item":"0-1......"}`, 0, &items, false)
	create("/journal", "", 0, &items, false)
	create("/journal/j-0000000001", "0-7", 0, &items, false)
	items.Taken("0-1")
	if got, err := o.NoItems(t.Context(), queue, &items); err != nil || !got {
		t.Errorf("when it was taken: %v, %v", got, err)
	}
	items.Put("0-2")
	create("/names", "", 0, &items, true)
	create("/names/deep", "", 0, &items, true)
	create("/names/deep/4f1c", `{"item":"0-2"}`, 0, &items, false)
}
