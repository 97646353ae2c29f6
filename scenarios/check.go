package scenarios

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/report/units"
)

// checker holds a tree of YAML to the shape of the Go type that it is for: unknown
// and repeated fields, values of the wrong kind, durations without a unit. It finds
// all of it at once, where a decoder's errors would say less and stop sooner, and
// takes it out of the tree, so that the rest can be decoded.
type checker struct{ problems problems }

// maxDepth is how deep a tree may nest; an alias can be made to contain itself.
const maxDepth = 20

// bad notes a problem and returns false.
func (c *checker) bad(n *yaml.Node, path, format string, args ...any) bool {
	c.problems = append(c.problems, &problem{Line: n.Line, Column: n.Column, Path: path, Text: fmt.Sprintf(format, args...)})
	return false
}

// check returns whether anything of the node can stay.
func (c *checker) check(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	n = resolve(n)
	switch {
	case n == nil:
		return true
	case depth > maxDepth:
		return c.bad(n, path, "nests deeper than %d", maxDepth)
	case t == reflect.TypeFor[time.Duration]():
		return c.duration(n, path)
	case t.Kind() == reflect.Pointer:
		return c.check(n, t.Elem(), path, depth)
	case t.Kind() == reflect.Struct:
		return c.fields(n, t, path, depth)
	case t.Kind() == reflect.Slice:
		return c.list(n, t, path, depth)
	case t.Kind() == reflect.Map:
		return c.names(n, t, path, depth)
	}
	return c.scalar(n, t.Kind(), path)
}

// duration wants a number and a unit.
func (c *checker) duration(n *yaml.Node, path string) bool {
	const want = "a number and a unit: 500us, 20ms, 1.5s, 2m, 1h"
	if n.Kind != yaml.ScalarNode {
		return c.bad(n, path, "is %s; want %s", kindName(n), want)
	}
	if _, err := time.ParseDuration(n.Value); err == nil {
		return true
	}
	if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
		return c.bad(n, path, "%s has no unit; is it %sms or %ss?", n.Value, n.Value, n.Value)
	}
	return c.bad(n, path, "%q is no duration; want %s", n.Value, want)
}

// fields wants the fields of a struct.
func (c *checker) fields(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	if n.Kind != yaml.MappingNode {
		return c.bad(n, path, "is %s; want the fields %s", kindName(n), strings.Join(fieldNames(t), ", "))
	}
	c.keys(n, path, func(key, value *yaml.Node) bool {
		f, ok := fieldNamed(t, key.Value)
		if ok {
			return c.check(value, f.Type, join(path, key.Value), depth+1)
		}
		c.bad(key, join(path, key.Value), "there is no such field%s", units.Nearest(key.Value, fieldNames(t)))
		if best := units.Closest(key.Value, fieldNames(t)); best != "" {
			c.problems[len(c.problems)-1].meant = join(path, best)
		}
		return false
	})
	return true
}

// names wants a map from names of the user's choice.
func (c *checker) names(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	if n.Kind != yaml.MappingNode {
		return c.bad(n, path, "is %s; want name: value", kindName(n))
	}
	c.keys(n, path, func(key, value *yaml.Node) bool {
		return c.check(value, t.Elem(), join(path, key.Value), depth+1)
	})
	return true
}

// keys goes through the keys of a mapping, each of which may be there once, and
// takes out those that cannot stay.
func (c *checker) keys(n *yaml.Node, path string, check func(key, value *yaml.Node) bool) {
	lines := map[string]int{}
	var stay []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		first, again := lines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			c.bad(key, path, "want a name before the colon, not a list, a group or a merge of fields")
		case again:
			c.bad(key, join(path, key.Value), "stands here again; it is in line %d already", first)
		case check(key, value):
			stay = append(stay, key, value)
		}
		lines[key.Value] = key.Line
	}
	n.Content = stay
}

func (c *checker) list(n *yaml.Node, t reflect.Type, path string, depth int) bool {
	if n.Kind != yaml.SequenceNode {
		return c.bad(n, path, "is %s; want a list: [...]", kindName(n))
	}
	for i, item := range n.Content {
		if !c.check(item, t.Elem(), join(path, strconv.Itoa(i)), depth+1) {
			// The others keep their numbers.
			n.Content[i] = empty(t.Elem(), item)
		}
	}
	return true
}

// empty is the zero value of a type, in the place of n.
func empty(t reflect.Type, n *yaml.Node) *yaml.Node {
	zero := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0", Line: n.Line, Column: n.Column}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		zero.Kind, zero.Tag, zero.Value = yaml.MappingNode, "!!map", ""
	case reflect.Slice:
		zero.Kind, zero.Tag, zero.Value = yaml.SequenceNode, "!!seq", ""
	case reflect.String:
		zero.Tag, zero.Value, zero.Style = "!!str", "", yaml.DoubleQuotedStyle
	case reflect.Bool:
		zero.Tag, zero.Value = "!!bool", "false"
	}
	return zero
}

func (c *checker) scalar(n *yaml.Node, k reflect.Kind, path string) bool {
	if n.Kind != yaml.ScalarNode {
		return c.bad(n, path, "is %s; want %s", kindName(n), scalarName(k))
	}
	tag := n.ShortTag()
	var ok bool
	switch k {
	case reflect.Int, reflect.Int64:
		_, err := strconv.ParseInt(n.Value, 10, 64)
		ok = tag == "!!int" && err == nil
	case reflect.Float64:
		ok = tag == "!!int" || tag == "!!float"
	case reflect.Bool:
		ok = tag == "!!bool"
	default:
		ok = tag != "!!null" && tag != "!!binary"
	}
	if !ok {
		return c.bad(n, path, "%q is not %s", n.Value, scalarName(k))
	}
	return true
}

func scalarName(k reflect.Kind) string {
	switch k {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "a text"
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

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}

// fieldNames are the names of a struct's fields in YAML, in order.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name := fieldName(t.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// fieldName is a field's name in YAML; "" if it has none.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); name != "" && fieldName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
