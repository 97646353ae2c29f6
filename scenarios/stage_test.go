package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

// What a client can do decides, and only where it can do both, or before there is one,
// the name.
func TestStage_learnsWhatTheClientCanDo(t *testing.T) {
	type closes struct{ recipes.Client }
	type contends struct{ recipes.Contender }
	type takes struct{ recipes.QueueClient }
	for _, row := range []struct {
		name   string
		client recipes.Client
		queue  bool
		err    string
	}{
		{"lock/x", contends{}, false, ""},
		{"zoo/queue-x", takes{}, true, ""},
		{"queue/x", takes{}, true, ""},
		{"queue/x", contends{}, false, ""},
		{"queue/x", closes{}, true, "neither a recipes.Contender"},
	} {
		st := &stage{cell: cell{Subject: recipes.Subject{Name: row.name}}}
		err := st.accept(row.client)
		if st.queue() != row.queue || (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s with %T: queue %v, %v", row.name, row.client, st.queue(), err)
		}
	}
	st := &stage{cell: cell{Subject: recipes.Subject{Name: "zoo/queue-x"}}}
	if err := st.accept(takes{}); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]bool{"failover": true, "succession": true, "stream": false, "churn": false} {
		if err := st.suits(kindNamed(kind)); (err != nil) != want {
			t.Errorf("a queue in a %s: %v", kind, err)
		}
	}
}
