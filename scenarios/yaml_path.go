package scenarios

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

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
