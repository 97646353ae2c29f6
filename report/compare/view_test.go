package compare

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/render"
)

// What people read is what a person approved.
func TestGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	old, new := invent(r, "main", 10, 1, 0.01), invent(r, "branch", 10, 1.12, 0.01)
	new.Run.Versions["zookeeper"] = "3.9.4"
	*new.Trials[2].Metrics[metrics.FanoutNotifications].Value = 6.5
	few := invent(r, "few", 2, 1, 0.01)
	for name, c := range map[string]Comparison{"worse": Runs(old, new, five), "few": Runs(few, few, five)} {
		var table, markdown bytes.Buffer
		if err := render.Terminal(&table, c.View(), render.Term{Width: 160}); err != nil {
			t.Fatal(err)
		}
		if err := render.Markdown(&markdown, c.View()); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name+".txt", table.Bytes())
		golden.Compare(t, name+".md", markdown.Bytes())
	}
}
