package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/view"
)

func load(t *testing.T, name string) report.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// viewOf is the view of a result in testdata.
func viewOf(t *testing.T, name string) *view.View {
	t.Helper()
	return view.New(view.Input{Result: load(t, name)})
}

// written is what the renderer of a file writes.
func written(t *testing.T, file string, v *view.View) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := files[file](&b, v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Everything that is written is what a person approved; of a file of one's own too.
func TestGolden(t *testing.T) {
	for _, name := range []string{"herd", "broken", "empty", "zoo", "matrix", "audit"} {
		v := viewOf(t, name)
		for file := range files {
			if file != report.PageFile { // too big to approve; it has tests of its own
				golden.Compare(t, name+"."+file, written(t, file, v))
			}
		}
		var b bytes.Buffer
		if err := Terminal(&b, v, Term{Width: 100}); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name+".txt", b.Bytes())
	}
}
