package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/zkbench/zkbench/recipes/zoo" // the scenario zoo is about them
	"github.com/zkbench/zkbench/scenarios/spec"
	"go.yaml.in/yaml/v4"
)

func TestLoad_acceptsWhatIsBuiltIn(t *testing.T) {
	for _, name := range spec.Builtin() {
		t.Run(name, func(t *testing.T) {
			s := shipped(t, name)
			if s.Name != name {
				t.Errorf("%s.yaml calls itself %q", name, s.Name)
			}
			// What is written into the run folder must be the same scenario.
			dumped, err := s.Dump()
			if err != nil {
				t.Fatal(err)
			}
			again, err := spec.Load(name, dumped)
			if err != nil {
				t.Fatalf("as it was run, it cannot be run again: %v", err)
			}
			if twice, _ := again.Dump(); string(twice) != string(dumped) {
				t.Errorf("it changes when it is read back:\n%s\n%s", dumped, twice)
			}
		})
	}
}

const small = `
name: small
subjects: [lock/parent]
clients: [2]
session_timeout: 4s
phases:
  - {name: drain, kind: drain, rounds: 1, hold: 0s}
`

func TestLoad_appliesOverrides(t *testing.T) {
	for _, row := range []struct{ about, override, want string }{
		{"a field that is there", "clients=[3, 4]", ""},
		{"a field that is not there yet", "about=a test", ""},
		{"a phase by its number", "phases.0.rounds=2", ""},
		{"a phase by its name", "phases.drain.rounds=2", ""},
		{"an unknown field", "phases.0.round=2", `phases.0.round: there is no such field; did you mean "rounds"?`},
		{"an unknown phase", "phases.churn.rounds=2", `"churn" is neither the name of an item nor an index from 0 to 0`},
		{"a duration without a unit", "session_timeout=4", "session_timeout: 4 has no unit; is it 4ms or 4s?"},
		{"a hold of all phases", "hold=5ms", ""},
		{"a duration of all phases that have one", "duration=5s", ""},
		{"a hold that is none", "hold=5", "hold: \"5\" is not a duration"},
		{"a threshold that is misspelt", "thresholds=[handof.latency.p99 < 1s]", "handof"},
		{"a threshold on a parameter that is not there", "thresholds=[handoff.latency.p99 < promise]", "no parameter"},
		{"no path", "=4", "want path=value"},
		{"a value that is no YAML", "about=[", "the value is not YAML"},
	} {
		t.Run(row.about, func(t *testing.T) {
			_, err := spec.Load("small.yaml", []byte(small), row.override)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q", err, row.want)
			case err != nil && strings.Contains(err.Error(), "yaml:"+"1:"):
				t.Errorf("it blames a line of the file for what a flag has: %v", err)
			}
		})
	}
}

// Whatever the bytes, Load returns; and what it accepts, it accepts again as it dumps it.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range spec.Builtin() {
		_, text, _ := spec.Source(name)
		f.Add(text)
	}
	wrong, _ := filepath.Glob("spec/testdata/wrong/*.yaml")
	for _, file := range wrong {
		text, _ := os.ReadFile(file)
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("matrix: {matrix: [1]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := spec.Load("fuzz", text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		dumped, err := s.Dump()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.Load("dumped", dumped); err != nil {
			t.Fatalf("%v\n%s", err, dumped)
		}
		if _, err := s.Batches(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFind_isTheNearestNode(t *testing.T) {
	var root yaml.Node
	if err := yaml.Load([]byte(small), &root); err != nil {
		t.Fatal(err)
	}
	for path, line := range map[string]int{"name": 2, "phases.0.rounds": 7, "phases.0.duration": 7, "matrix.hold": 2, "clients.0": 4} {
		if n := spec.FindNode(&root, path); n == nil || n.Line != line {
			t.Errorf("%s is found at %+v, want line %d", path, n, line)
		}
	}
}
