package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Mistake is one thing that is wrong with a scenario.
type Mistake struct {
	File         string // "" when the scenario was not read from one
	Line, Column int    // 1 based; 0 where the mistake is not in the file's text, but in what was written over it
	Path         string // the field's, like phases.0.hold
	Text         string // what it has, and what it may have

	meant string // the path of the field that is missing because this one's name is misspelt; else ""
}

// Error is one line: FILE:LINE:COLUMN: FIELD: what is wrong.
func (m *Mistake) Error() string {
	var at string
	switch {
	case m.File != "" && m.Line > 0:
		at = fmt.Sprintf("%s:%d:%d: ", m.File, m.Line, m.Column)
	case m.File != "":
		at = m.File + ": "
	case m.Line > 0:
		at = fmt.Sprintf("%d:%d: ", m.Line, m.Column)
	}
	if m.Path == "" {
		return at + m.Text
	}
	return at + m.field() + ": " + m.Text
}

// field is the path without the index of a list's item: the text says which it is.
func (m *Mistake) field() string {
	if i := strings.LastIndexByte(m.Path, '.'); i > 0 {
		if _, err := strconv.Atoi(m.Path[i+1:]); err == nil {
			return m.Path[:i]
		}
	}
	return m.Path
}

// Mistakes is everything that is wrong with a scenario, in the order of the file.
type Mistakes []*Mistake

// Error is one line for each mistake.
func (ms Mistakes) Error() string {
	lines := make([]string, len(ms))
	for i, m := range ms {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// err is the mistakes as an error, nil where there is none.
func (ms Mistakes) err() error {
	if len(ms) == 0 {
		return nil
	}
	return ms
}

// In says which file the mistakes are in.
func (ms Mistakes) In(file string) Mistakes {
	for _, m := range ms {
		m.File = file
	}
	return ms
}

// locate gives every mistake that has none a place in the tree: that of its field,
// or of the nearest thing around it that was written.
func (ms Mistakes) locate(root *yaml.Node) {
	for _, m := range ms {
		if m.Line > 0 {
			continue
		}
		if n := find(root, m.Path); n != nil {
			m.Line, m.Column = n.Line, n.Column
		}
	}
}

// sort puts the mistakes into the order of the file.
func (ms Mistakes) sort() {
	slices.SortStableFunc(ms, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// about says whether a mistake is already known about the field at path, or about
// something around it or in it: the first is the cause, the others follow from it.
func (ms Mistakes) about(path string) bool {
	return slices.ContainsFunc(ms, func(m *Mistake) bool {
		return within(path, m.Path) || within(m.Path, path) || m.meant != "" && within(path, m.meant)
	})
}

// beyond leaves out what follows from the mistakes that are known.
func (ms Mistakes) beyond(known Mistakes) Mistakes {
	return slices.DeleteFunc(ms, func(m *Mistake) bool { return known.about(m.Path) })
}

// within says whether the field at path is the one at outer or in it.
func within(path, outer string) bool {
	return outer == "" || path == outer || strings.HasPrefix(path, outer+".")
}

// find returns the node of the field at path, or the nearest around it.
func find(root *yaml.Node, path string) *yaml.Node {
	node := resolve(root)
	for path != "" {
		step, next := longest(node, path)
		if next == nil {
			break
		}
		node, path = next, strings.TrimPrefix(path[len(step):], ".")
	}
	return node
}

// longest returns the field or item that the path's first step names, and the step.
// A matrix has paths for keys: of two that fit, the longer is meant.
func longest(node *yaml.Node, path string) (step string, next *yaml.Node) {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		if next := resolve(child(node, path[:at])); next != nil {
			return path[:at], next
		}
	}
	return "", nil
}

// child returns the field or item that step names, or nil.
func child(node *yaml.Node, step string) *yaml.Node {
	switch {
	case node == nil:
		return nil
	case node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1]
			}
		}
	case node.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i]
		}
	}
	return nil
}

// resolve goes through the document and through aliases to what is meant.
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
