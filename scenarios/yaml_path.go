package scenarios

import (
	"iter"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// within reports whether the field at path is outer or inside it.
func within(path, outer string) bool {
	return outer == "" || path == outer || strings.HasPrefix(path, outer+".")
}

// find returns the node of the field at path, or the nearest enclosing one. The keys of a matrix
// are paths: of two that match, the longer one is used.
func find(root *yaml.Node, path string) *yaml.Node {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		if next := child(root, path[:at]); next != nil {
			return find(next, strings.TrimPrefix(path[at:], "."))
		}
	}
	return resolve(root)
}

// child returns the field or item named by step, or nil.
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

// pairs iterates over the keys and values of a mapping; other nodes have none.
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
