package spec

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
)

// decoder decodes a YAML tree strictly: unknown and repeated fields, values of the wrong kind, and durations
// without a unit are problems. It reports all problems at once, while the library stops at the first. An invalid
// value becomes zero.
type decoder struct {
	problems Problems
	nodes    int // visited so far
}

// maxNodes bounds the nodes of a tree, each counted as often as aliases refer to it: a small file can
// otherwise expand to a billion nodes.
const maxNodes = 200_000

func (d *decoder) add(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, &problem{Line: n.Line, Column: n.Column, Path: path, Text: fmt.Sprintf(format, args...)})
}

func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string) {
	switch d.nodes++; {
	case d.nodes == maxNodes:
		d.add(n, path, "the scenario has more than %d values, with those that aliases repeat", maxNodes)
		return
	case d.nodes > maxNodes:
		return
	}
	n = resolve(n)
	if problem := invalidReason(n, v.Type()); problem != "" {
		d.add(n, path, "%s", problem)
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, item := range n.Content {
			d.decode(item, v.Index(i), join(path, strconv.Itoa(i)))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for key, value := range d.fields(n, path) {
			item := reflect.New(v.Type().Elem()).Elem()
			d.decode(value, item, join(path, key.Value))
			v.SetMapIndex(reflect.ValueOf(key.Value), item)
		}
	case reflect.Struct:
		names := FieldNames(v.Type())
		for key, value := range d.fields(n, path) {
			if i := slices.Index(names, key.Value); i >= 0 {
				d.decode(value, v.Field(i), join(path, key.Value))
				continue
			}
			d.add(key, join(path, key.Value), "there is no such field%s", units.Nearest(key.Value, names))
		}
		if v.Type() == reflect.TypeFor[Mix]() && v.IsZero() {
			d.add(n, path, "want a share of read or write above 0")
		}
	default:
		if err := n.Load(v.Addr().Interface()); err != nil { // not reached if invalidReason is complete
			d.add(n, path, "%v", err)
		}
	}
}

// fields yields the fields of a mapping with their values, except keys that are repeated or are not names.
func (d *decoder) fields(n *yaml.Node, path string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		lines := map[string]int{}
		for key, value := range pairs(n) {
			first, again := lines[key.Value]
			lines[key.Value] = key.Line
			switch {
			case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
				d.add(key, path, "want a name before the colon, not a list, a group or a merge of fields")
			case again:
				d.add(key, join(path, key.Value), "duplicate key; first defined at line %d", first)
			case !yield(key, value):
				return
			}
		}
	}
}

// nodeKinds are the kinds of node that contain values of a kind; other values are scalars.
var nodeKinds = map[reflect.Kind]yaml.Kind{
	reflect.Struct: yaml.MappingNode, reflect.Map: yaml.MappingNode, reflect.Slice: yaml.SequenceNode,
}

var kindsWanted = map[reflect.Kind]string{
	reflect.Slice: "a list: [...]", reflect.Map: "name: value", reflect.Int: "a whole number",
	reflect.Float64: "a number", reflect.Bool: "true or false", reflect.String: "a text",
}

func invalidReason(n *yaml.Node, t reflect.Type) string {
	kind, want := cmp.Or(nodeKinds[t.Kind()], yaml.ScalarNode), kindsWanted[t.Kind()]
	switch {
	case t == reflect.TypeFor[time.Duration]():
		want = "a number and a unit: 500us, 20ms, 1.5s, 2m, 1h"
	case t.Kind() == reflect.Struct:
		want = "the fields " + strings.Join(FieldNames(t), ", ")
	}
	_, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case n.Kind != kind:
		return fmt.Sprintf("is %s; want %s", kindName(n), want)
	case kind != yaml.ScalarNode || isValidScalar(n, t):
		return ""
	case t != reflect.TypeFor[time.Duration]():
		return fmt.Sprintf("%q is not %s", n.Value, want)
	case err == nil:
		return fmt.Sprintf("%s has no unit; is it %sms or %ss?", n.Value, n.Value, n.Value)
	}
	return fmt.Sprintf("%q is not a duration; want %s", n.Value, want)
}

func isValidScalar(n *yaml.Node, t reflect.Type) bool {
	tag := n.ShortTag()
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(n.Value)
		return err == nil
	case t.Kind() == reflect.Int:
		v, err := strconv.ParseInt(n.Value, 10, 64)
		return tag == "!!int" && err == nil && strconv.FormatInt(v, 10) == strings.TrimPrefix(n.Value, "+") // 010 is octal
	case t.Kind() == reflect.Float64:
		return tag == "!!int" || tag == "!!float"
	case t.Kind() == reflect.Bool:
		return tag == "!!bool"
	}
	return tag != "!!null" && tag != "!!binary"
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a group of fields"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

func join(path, step string) string { return strings.TrimPrefix(path+"."+step, ".") }

// FieldNames returns the YAML keys of the fields of a struct, in order.
func FieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if !f.IsExported() { // sorted last
			break
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		names = append(names, name)
	}
	return names
}
