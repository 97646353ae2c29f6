package chaos

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

// jars is where ZooKeeper is on this machine, as Start finds it: here it is two versions, by
// two names.
var jars = cmp.Or(os.Getenv("ZOOKEEPER_HOME"), "/usr/share/java")

func TestMemberUpgrade_leavesTheLeader(t *testing.T) {
	e := ensemble(t, ensembles.Options{Home: jars, Tick: tick, Versions: []ensembles.Version{{Name: "before", From: jars}, {Name: "after", From: jars}}})
	target := Target{Ensemble: e}
	first := inject(t, parse(t, "member.upgrade", "", "leave", "1"), target)
	if got := versionsOf(t, e); strings.Count(first.Target, "zk") != 2 || !slices.Equal(got, []string{"after", "after", "before"}) {
		t.Errorf("of %s: the members run %s", first.Target, got)
	}
	if !strings.Contains(first.Proof, "from after ("+jars+")") || !strings.Contains(first.Proof, first.Target[:3]+" "+e.Version+" to "+e.Version) {
		t.Errorf("it is not proven by what it was before, and is: %s", first.Proof)
	}
	back := inject(t, parse(t, "member.upgrade", "", "to", "before", "leave", "1"), target)
	if got := versionsOf(t, e); strings.Count(back.Target, "zk") != 1 || !slices.Equal(got, []string{"after", "before", "before"}) {
		t.Errorf("back, of %s: the members run %s", back.Target, got)
	}
	if _, err := parse(t, "member.upgrade", "", "to", "old", "leave", "1").Inject(t.Context(), target); !errors.Is(err, ErrNoEffect) {
		t.Errorf("nothing was left to do, and it says %v", err)
	}
}

// versionsOf are the versions that the members run, in alphabetical order.
func versionsOf(t *testing.T, e *ensembles.Ensemble) (names []string) {
	t.Helper()
	for _, m := range e.Members {
		name, err := m.Machine.(ensembles.Upgrader).CurrentVersion(t.Context())
		must(t, err)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
