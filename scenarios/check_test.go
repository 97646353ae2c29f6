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
			must(t, err)
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

// Whatever the bytes, Load returns; and what it accepts, it accepts again as it dumps it.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(plainTrial))
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
		must(t, err)
		if _, err := spec.Load("dumped", dumped); err != nil {
			t.Fatalf("%v\n%s", err, dumped)
		}
		_, err = s.Batches()
		must(t, err)
	})
}

func TestFind_isTheNearestNode(t *testing.T) {
	var root yaml.Node
	must(t, yaml.Load([]byte(plainTrial), &root))
	for path, line := range map[string]int{"name": 2, "phases.0.rounds": 6, "phases.0.duration": 6, "matrix.hold": 2, "clients.0": 4} {
		if n := spec.FindNode(&root, path); n == nil || n.Line != line {
			t.Errorf("%s is found at %+v, want line %d", path, n, line)
		}
	}
}
