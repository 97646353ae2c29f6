package spec

import (
	"cmp"
	_ "embed"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
)

func override(root *yaml.Node, o string, forAll map[string]string) error {
	path, value, ok := strings.Cut(o, "=")
	if !ok || path == "" {
		return fmt.Errorf("--set %s: want path=value, like phases.0.rounds=5", o)
	}
	declared, isField := paramNames(root), slices.Contains(FieldNames(reflect.TypeFor[Scenario]()), path)
	switch all := forAllPhases(path); {
	case path == execKey:
		return overrideExec(root, value)
	case all != path && child(child(root, "matrix"), all) != nil:
		return fmt.Errorf("--set %s: the matrix varies the %s of all phases: set one value for all phases, or vary phases.NAME.%s instead", o, all, all)
	case path == allHold || path == allDuration:
		removeFromMatrix(root, path)
		forAll[path] = value
		return nil
	case slices.Contains(declared, path) && !isField:
		path = "params." + path // the prefix is optional
	case !isField && !strings.Contains(path, ".") && units.Closest(path, declared) != "":
		return fmt.Errorf("--set %s: unknown parameter %q%s", o, path, units.Nearest(path, declared))
	}
	if err := set(root, path, value); err != nil {
		return fmt.Errorf("--set %s: %w", o, err)
	}
	return nil
}

func paramNames(root *yaml.Node) []string { return keysOf(resolve(child(root, "params"))) }

func keysOf(node *yaml.Node) (names []string) {
	for key := range pairs(node) {
		names = append(names, key.Value)
	}
	return names
}

// unknownParams reports overrides without effect: of undeclared parameters that no threshold reads.
func (s *Scenario) unknownParams(declared, overrides []string) (ps Problems) {
	for _, o := range overrides {
		path, _, _ := strings.Cut(o, "=")
		name, ok := strings.CutPrefix(path, "params.")
		read := slices.ContainsFunc(s.Thresholds, func(expr string) bool {
			c, err := report.ParseThreshold(expr)
			return err == nil && c.Parameter() == name
		})
		switch {
		case !ok || read || slices.Contains(declared, name):
		case len(declared) == 0:
			ps = append(ps, &problem{Text: fmt.Sprintf("--set %s: the scenario declares no parameters", o)})
		default:
			ps = append(ps, &problem{Text: fmt.Sprintf("--set %s: unknown parameter %q%s", o, name, units.Nearest(name, declared))})
		}
	}
	return ps
}

// set sets a scalar or a list in the tree. The path consists of field names, list indices and names of
// list items, such as phases; the value is YAML.
func set(root *yaml.Node, path, value string) error {
	var v yaml.Node
	if err := yaml.Load([]byte(value), &v); err != nil {
		return fmt.Errorf("the value is not YAML: %w", err)
	}
	node := resolve(root)
	removeFromMatrix(node, path)
	steps := strings.Split(path, ".")
	if len(steps) > 1 && slices.Contains(optional, steps[0]) && child(node, steps[0]) == nil {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: steps[0]}, &yaml.Node{Kind: yaml.MappingNode})
	}
	for i, step := range steps {
		next, err := descend(node, step, i == len(steps)-1)
		if err != nil {
			return err
		}
		node = next
	}
	clearPositions(&v)
	*node = *resolve(&v)
	return nil
}

// optional are mappings that a scenario may omit; set creates them.
var optional = []string{"params", "matrix", "mix"}

// removeFromMatrix removes the field at path from the matrix, because it now has one value. The path of a field of
// all phases also removes this field of single phases.
func removeFromMatrix(root *yaml.Node, path string) {
	matrix := resolve(child(root, "matrix"))
	if matrix == nil {
		return
	}
	var others []*yaml.Node
	for key, value := range pairs(matrix) {
		if byName(root, key.Value) != byName(root, path) && forAllPhases(key.Value) != path {
			others = append(others, key, value)
		}
	}
	matrix.Content = others
}

func byName(root *yaml.Node, path string) string {
	steps := strings.Split(path, ".")
	if len(steps) < 3 || steps[0] != "phases" {
		return path
	}
	if name := resolve(child(child(child(root, "phases"), steps[1]), "name")); name != nil {
		steps[1] = name.Value
	}
	return strings.Join(steps, ".")
}

func clearPositions(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	for _, child := range n.Content {
		clearPositions(child)
	}
}

// descend returns the child of node that step names; it adds a missing field if last is set.
func descend(node *yaml.Node, step string, last bool) (*yaml.Node, error) {
	node = resolve(node)
	switch node.Kind {
	case yaml.MappingNode:
		if next := child(node, step); next != nil {
			return next, nil
		}
		if !last {
			return nil, fmt.Errorf("there is no field %q%s", step, units.Nearest(step, keysOf(node)))
		}
		child := &yaml.Node{Kind: yaml.ScalarNode}
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: step}, child)
		return child, nil
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if name := child(item, "name"); name != nil && name.Value == step {
				return resolve(item), nil
			}
		}
		if item := child(node, step); item != nil {
			return item, nil
		}
		return nil, fmt.Errorf("%q is neither the name of an item nor an index from 0 to %d", step, len(node.Content)-1)
	}
	return nil, fmt.Errorf("there is no field %q: the value that would contain it has no fields", step)
}

func within(path, outer string) bool {
	return outer == "" || path == outer || strings.HasPrefix(path, outer+".")
}

// FindNode returns the node of the field at path, or the nearest enclosing node. The keys of a matrix
// are paths themselves: FindNode uses the longest key that matches.
func FindNode(root *yaml.Node, path string) *yaml.Node {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		if next := child(root, path[:at]); next != nil {
			return FindNode(next, strings.TrimPrefix(path[at:], "."))
		}
	}
	return resolve(root)
}

func child(node *yaml.Node, step string) *yaml.Node {
	node = resolve(node)
	for key, value := range pairs(node) {
		if key.Value == step {
			return value
		}
	}
	if i, err := strconv.Atoi(step); err == nil && node != nil && node.Kind == yaml.SequenceNode && i >= 0 && i < len(node.Content) {
		return node.Content[i]
	}
	return nil
}

func pairs(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content) && yield(node.Content[i], node.Content[i+1]); i += 2 {
		}
	}
}

func resolve(node *yaml.Node) *yaml.Node {
	for node != nil {
		switch {
		case node.Kind == yaml.DocumentNode && len(node.Content) > 0:
			node = node.Content[0]
		case node.Kind == yaml.AliasNode:
			node = node.Alias
		default:
			return node
		}
	}
	return nil
}

func (s *Scenario) validateOnly(bad ProblemFunc) {
	if len(s.Only) == 0 {
		return
	}
	if p := s.AuditPhase(); p != nil && len(p.Cells) == 0 {
		bad("only", "the trials of an audit are not known before it runs: select cells instead (phases.0.cells)")
		return
	}
	cells, err := s.everyCell()
	if err != nil {
		bad("only", "%v", err)
		return
	}
	names := units.Names(cells, Cell.TrialName)
	for i, name := range s.Only {
		if !slices.Contains(names, name) {
			bad(fmt.Sprintf("only.%d", i), "the scenario has no trial %s%s", name, units.Nearest(name, names))
		}
	}
}

// Schema is a JSON schema of scenario files, for editors. A test generates it from the fields of
// Scenario and their comments.
//
//go:generate env UPDATE_SCHEMA=1 go test -run TestSchema_isCurrent ..
//go:embed schema.json
var Schema []byte

type problem struct {
	File         string // "" if the scenario was not read from a file
	Line, Column int    // from 1; 0 if the problem is in an override
	Path         string // of the field, such as phases.0.hold
	Text         string // the problem, with the allowed values
}

// Error returns one line: FILE:LINE:COLUMN: FIELD: the problem.
func (p *problem) Error() string {
	var at string
	switch {
	case p.File != "" && p.Line > 0:
		at = fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	case p.File != "":
		at = p.File + ": "
	case p.Line > 0:
		at = fmt.Sprintf("%d:%d: ", p.Line, p.Column)
	}
	if p.Path == "" {
		return at + p.Text
	}
	return at + p.field() + ": " + p.Text
}

// field returns the path without the index of a list item: the text names the item.
func (p *problem) field() string {
	if i := strings.LastIndexByte(p.Path, '.'); i > 0 {
		if _, err := strconv.Atoi(p.Path[i+1:]); err == nil {
			return p.Path[:i]
		}
	}
	return p.Path
}

// Problems are all errors of a scenario, in the order of the text.
type Problems []*problem

func (ps Problems) Error() string {
	return strings.Join(units.Names(ps, (*problem).Error), "\n")
}

func (ps *Problems) add(path, format string, args ...any) {
	*ps = append(*ps, &problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (ps Problems) inFile(file string) Problems {
	for _, p := range ps {
		p.File = file
	}
	return ps
}

// locate sets missing positions to the position of the field, or of the nearest enclosing node.
func (ps Problems) locate(root *yaml.Node) {
	for _, p := range ps {
		if p.Line == 0 {
			n := FindNode(root, p.Path)
			p.Line, p.Column = n.Line, n.Column
		}
	}
}

// notCausedBy returns the problems that do not follow from known problems: those of other fields, which neither
// enclose the known problems' fields nor are inside them.
func (ps Problems) notCausedBy(known Problems) Problems {
	return slices.DeleteFunc(ps, func(p *problem) bool {
		return slices.ContainsFunc(known, func(k *problem) bool {
			return within(p.Path, k.Path) || within(k.Path, p.Path)
		})
	})
}

// ProblemFunc records a problem with the field at a path.
type ProblemFunc func(field, format string, args ...any)

func (f ProblemFunc) below(path string) ProblemFunc {
	return func(field, format string, args ...any) { f(path+"."+field, format, args...) }
}

// Between records a problem unless value is between least and most, inclusive; NaN is a problem.
func Between[T cmp.Ordered](bad ProblemFunc, field string, value, least, most T) {
	if !(value >= least && value <= most) {
		bad(field, "%v is not between %v and %v", value, least, most)
	}
}
