package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
)

// checker checks a YAML tree against a Go type: unknown and repeated fields, values of the wrong kind,
// durations without a unit. It reports all problems at once, while a decoder stops at the first. It
// removes invalid fields and replaces invalid values by zeros, so that the tree can be decoded.
type checker struct{ problems Problems }

func (c *checker) add(n *yaml.Node, path, format string, args ...any) *problem {
	p := &problem{Line: n.Line, Column: n.Column, Path: path, Text: fmt.Sprintf(format, args...)}
	c.problems = append(c.problems, p)
	return p
}

func (c *checker) check(at *yaml.Node, t reflect.Type, path string) {
	n := resolve(at)
	if why := misfit(n, t); why != "" {
		c.add(n, path, "%s", why)
		place := *n
		_ = at.Dump(reflect.Zero(t).Interface())
		at.Line, at.Column = place.Line, place.Column
		return
	}
	switch {
	case t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			c.check(item, t.Elem(), join(path, strconv.Itoa(i)))
		}
	case t.Kind() == reflect.Map:
		c.keys(n, path, func(key, value *yaml.Node) bool {
			c.check(value, t.Elem(), join(path, key.Value))
			return true
		})
	case t.Kind() == reflect.Struct:
		names := FieldNames(t)
		c.keys(n, path, func(key, value *yaml.Node) bool {
			i := slices.Index(names, key.Value)
			if i >= 0 {
				c.check(value, t.Field(i).Type, join(path, key.Value))
				return true
			}
			p := c.add(key, join(path, key.Value), "there is no such field%s", units.Nearest(key.Value, names))
			if best := units.Closest(key.Value, names); best != "" {
				p.meant = join(path, best)
			}
			return false
		})
	}
}

func (c *checker) keys(n *yaml.Node, path string, check func(key, value *yaml.Node) bool) {
	lines := map[string]int{}
	var stay []*yaml.Node
	for key, value := range pairs(n) {
		first, again := lines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			c.add(key, path, "want a name before the colon, not a list, a group or a merge of fields")
		case again:
			c.add(key, join(path, key.Value), "duplicate key; first defined at line %d", first)
		case check(key, value):
			stay = append(stay, key, value)
		}
		lines[key.Value] = key.Line
	}
	n.Content = stay
}

func misfit(n *yaml.Node, t reflect.Type) string {
	kind, want := yaml.ScalarNode, ""
	switch {
	case t == reflect.TypeFor[time.Duration]():
		want = "a number and a unit: 500us, 20ms, 1.5s, 2m, 1h"
	case t.Kind() == reflect.Struct:
		kind, want = yaml.MappingNode, "the fields "+strings.Join(FieldNames(t), ", ")
	case t.Kind() == reflect.Slice:
		kind, want = yaml.SequenceNode, "a list: [...]"
	case t.Kind() == reflect.Map:
		kind, want = yaml.MappingNode, "name: value"
	case t.Kind() == reflect.Int:
		want = "a whole number"
	case t.Kind() == reflect.Float64:
		want = "a number"
	case t.Kind() == reflect.Bool:
		want = "true or false"
	case t.Kind() == reflect.String:
		want = "a text"
	}
	_, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case n.Kind != kind:
		return fmt.Sprintf("is %s; want %s", kindName(n), want)
	case kind != yaml.ScalarNode || fits(n, t):
		return ""
	case t != reflect.TypeFor[time.Duration]():
		return fmt.Sprintf("%q is not %s", n.Value, want)
	case err == nil:
		return fmt.Sprintf("%s has no unit; is it %sms or %ss?", n.Value, n.Value, n.Value)
	}
	return fmt.Sprintf("%q is not a duration; want %s", n.Value, want)
}

func fits(n *yaml.Node, t reflect.Type) bool {
	tag := n.ShortTag()
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(n.Value)
		return err == nil
	case t.Kind() == reflect.Int:
		_, err := strconv.ParseInt(n.Value, 10, 64)
		return tag == "!!int" && err == nil
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
