package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/view"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, name string) report.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	must(t, err)
	var r report.Result
	must(t, json.Unmarshal(b, &r))
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
	must(t, files[file](&b, v))
	return b.Bytes()
}

func terminal(t *testing.T, v *view.View, term Term) string {
	t.Helper()
	var b strings.Builder
	must(t, Terminal(&b, v, term))
	return b.String()
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
		golden.Compare(t, name+".txt", []byte(terminal(t, v, Term{Width: 100})))
	}
}
