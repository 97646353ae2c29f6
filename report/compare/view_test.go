package compare

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
		golden(t, name+".txt", table.Bytes())
		golden(t, name+".md", markdown.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its golden file; got:\n%s", name, got)
	}
}
