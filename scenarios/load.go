package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"go.yaml.in/yaml/v4"

	"zkbench/recipes"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin returns the names of the built-in scenarios, in order.
func Builtin() []string {
	files, _ := fs.Glob(builtin, "builtin/*.yaml")
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(f, "builtin/"), ".yaml")
	}
	return names
}

// Source returns the YAML of a scenario: a built-in one by name, or a file by path.
func Source(nameOrFile string) (name string, text []byte, err error) {
	if text, err := builtin.ReadFile("builtin/" + nameOrFile + ".yaml"); err == nil {
		return nameOrFile, text, nil
	}
	if !strings.HasSuffix(nameOrFile, ".yaml") && !strings.HasSuffix(nameOrFile, ".yml") {
		return "", nil, fmt.Errorf("no scenario is called %q%s; a scenario of your own is a file whose name ends in .yaml",
			nameOrFile, Nearest(nameOrFile, Builtin()))
	}
	text, err = os.ReadFile(nameOrFile)
	return nameOrFile, text, err
}

// Load reads a scenario, applies overrides ("hold=5ms", "phases.0.rounds=1") in
// order, and validates the result. name is for error messages.
func Load(name string, text []byte, overrides []string) (*Scenario, error) {
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, o := range overrides {
		if err := override(&root, o); err != nil {
			return nil, err
		}
	}
	var s Scenario
	if err := root.Load(&s, yaml.WithKnownFields()); err != nil {
		return nil, explain(name, err)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &s, nil
}

// explain puts one line a mistake, each with its place.
func explain(name string, err error) error {
	var all *yaml.LoadErrors
	if !errors.As(err, &all) {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, e := range all.Errors {
		errs = append(errs, fmt.Errorf("%s: %w", name, e))
	}
	return errors.Join(errs...)
}

// override sets one scalar or list in the tree: "path=value", the path's steps
// being field names and list indices, the value YAML.
func override(root *yaml.Node, o string) error {
	path, value, ok := strings.Cut(o, "=")
	if !ok || path == "" {
		return fmt.Errorf("--set %s: want path=value, like phases.0.rounds=5", o)
	}
	var v yaml.Node
	if err := yaml.Load([]byte(value), &v); err != nil {
		return fmt.Errorf("--set %s: the value is not YAML: %w", o, err)
	}
	node := root
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	steps := strings.Split(path, ".")
	for i, step := range steps {
		last := i == len(steps)-1
		next, err := descend(node, step, last)
		if err != nil {
			return fmt.Errorf("--set %s: %w", o, err)
		}
		node = next
	}
	if v.Kind == yaml.DocumentNode {
		v = *v.Content[0]
	}
	*node = v
	return nil
}

// descend returns the child of node that step names; the last step of a path may
// name a field that is not there yet.
func descend(node *yaml.Node, step string, last bool) (*yaml.Node, error) {
	switch node.Kind {
	case yaml.MappingNode:
		var keys []string
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], nil
			}
			keys = append(keys, node.Content[i].Value)
		}
		if !last {
			return nil, fmt.Errorf("there is no %q%s", step, Nearest(step, keys))
		}
		child := &yaml.Node{Kind: yaml.ScalarNode}
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: step}, child)
		return child, nil
	case yaml.SequenceNode:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(node.Content) {
			return nil, fmt.Errorf("%q is not an index from 0 to %d", step, len(node.Content)-1)
		}
		return node.Content[i], nil
	}
	return nil, fmt.Errorf("there is nothing below %q", step)
}

// Dump returns the scenario as YAML, every default spelled out.
func (s *Scenario) Dump() ([]byte, error) { return yaml.Dump(s) }

// SubjectNames returns the names of all registered subjects.
func SubjectNames() []string {
	var names []string
	for _, s := range recipes.Subjects() {
		names = append(names, s.Name)
	}
	return names
}

// Nearest returns `; did you mean "x"?` for the closest of names, or what there is
// to choose from.
func Nearest(name string, names []string) string {
	best, distance := "", 1+len(name)/2
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < distance {
			best, distance = n, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; there is " + strings.Join(names, ", ")
}
