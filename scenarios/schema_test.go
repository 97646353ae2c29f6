package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func parsedSchema(t *testing.T) map[string]any {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// follows says why a value does not follow the schema; "" if it does. It knows those
// words of JSON Schema that Schema uses, and refuses others.
func follows(s map[string]any, v any, path string) string {
	for word, want := range s {
		if why := followsWord(s, word, want, v, path); why != "" {
			return why
		}
	}
	return ""
}

func followsWord(s map[string]any, word string, want, v any, path string) string {
	object, _ := v.(map[string]any)
	text, isText := v.(string)
	number, isNumber := v.(float64)
	switch word {
	case "$schema", "title", "description", "properties":
	case "type":
		types, several := want.([]any)
		if !several {
			types = []any{want}
		}
		if !slices.ContainsFunc(types, func(t any) bool { return isOf(t.(string), v) }) {
			return fmt.Sprintf("%s: %v is no %v", path, v, want)
		}
	case "required":
		for _, name := range want.([]any) {
			if _, ok := object[name.(string)]; !ok && object != nil {
				return path + ": no " + name.(string)
			}
		}
	case "anyOf":
		for _, one := range want.([]any) {
			if follows(one.(map[string]any), v, path) == "" {
				return ""
			}
		}
		return path + ": none of the alternatives"
	case "additionalProperties":
		known, _ := s["properties"].(map[string]any)
		for name, child := range object {
			at := path + "." + name
			of, ok := known[name].(map[string]any)
			if !ok {
				of, ok = want.(map[string]any)
			}
			if !ok {
				return at + ": not known"
			}
			if why := follows(of, child, at); why != "" {
				return why
			}
		}
	case "items":
		items, _ := v.([]any)
		for i, item := range items {
			if why := follows(want.(map[string]any), item, fmt.Sprintf("%s.%d", path, i)); why != "" {
				return why
			}
		}
	case "enum":
		if !slices.Contains(want.([]any), v) {
			return fmt.Sprintf("%s: %v is not one of %v", path, v, want)
		}
	case "pattern":
		if isText && !regexp.MustCompile(want.(string)).MatchString(text) {
			return fmt.Sprintf("%s: %q does not match", path, text)
		}
	case "minimum", "maximum":
		if limit := want.(float64); isNumber && (word == "minimum" && number < limit || word == "maximum" && number > limit) {
			return fmt.Sprintf("%s: %v is beyond %v", path, v, limit)
		}
	default:
		return "the schema has a word that this test does not know: " + word
	}
	return ""
}

func isOf(kind string, v any) bool {
	switch x := v.(type) {
	case map[string]any:
		return kind == "object"
	case []any:
		return kind == "array"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && x == float64(int64(x))
	}
	return false
}

// asJSON reads YAML as an editor's language server does.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Load(text, &v); err != nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSchema_builtInScenariosFollowIt(t *testing.T) {
	s := parsedSchema(t)
	for _, name := range append(Builtin(), "varied") {
		text := []byte(varied)
		if name != "varied" {
			_, text, _ = Source(name)
		}
		if why := follows(s, asJSON(t, text), name); why != "" {
			t.Error(why)
		}
	}
}

func TestSchema_wrongFilesDoNot(t *testing.T) {
	s := parsedSchema(t)
	for _, name := range []string{"ten", "shape", "kinds"} {
		text, err := os.ReadFile(filepath.Join("testdata/wrong", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if follows(s, asJSON(t, text), name) == "" {
			t.Errorf("%s.yaml follows the schema", name)
		}
	}
}

// An editor shows the comment on the field: each must have one.
func TestSchema_everyFieldIsDescribed(t *testing.T) {
	var walk func(s map[string]any, path string)
	walk = func(s map[string]any, path string) {
		fields, _ := s["properties"].(map[string]any)
		for name, of := range fields {
			child := of.(map[string]any)
			if about, _ := child["description"].(string); strings.TrimSpace(about) == "" {
				t.Errorf("%s.%s has no comment on its field in Go", path, name)
			}
			walk(child, path+"."+name)
			if items, ok := child["items"].(map[string]any); ok {
				walk(items, path+"."+name)
			}
		}
	}
	walk(parsedSchema(t), "")
}
