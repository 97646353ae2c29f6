package scenarios

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
	"go.yaml.in/yaml/v4"
)

// The comments on the fields are shown by editors, so they are written for
// readers of the code and authors of scenarios.
var documented = []string{"spec/scenario.go", "spec/driver.go", "spec/phase.go", "spec/fault.go", "spec/zoo.go"}

// schema is the part of JSON Schema that scenarios need.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"` // a name or a list of names
	Properties  map[string]*schema `json:"properties,omitempty"`
	Additional  any                `json:"additionalProperties,omitempty"` // false or a schema
	Required    []string           `json:"required,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *float64           `json:"minimum,omitempty"`
	Maximum     *float64           `json:"maximum,omitempty"`
}

// durationPattern matches the input of time.ParseDuration.
const durationPattern = `^[-+]?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

// Required fields; Validate makes the other checks.
var required = map[string][]string{
	"Scenario": {"name", "session_timeout", "phases"},
	"Phase":    {"name", "kind"},
	"Fault":    {"fault"},
	"Specimen": {"subject", "provocation"},
	"Driver":   {"name", "exec"},
	"Incident": {"thread", "version", "cause"},
}

// registered are the subjects of the program, without the versions that this machine happens to
// have of them: tests register more later.
var registered = slices.DeleteFunc(spec.SubjectNames(), func(name string) bool { return strings.Contains(name, "@") })

// versioned is the pattern of a subject's name with a version, as in lock/curator@5.7.1.
const versioned = `^[a-z]+/[a-z-]+@[0-9]+(\.[0-9]+)*$`

// choices returns the allowed values of fields that have a fixed set.
func choices() map[string][]string {
	words := map[string][]string{
		"Scenario.subjects": registered, "Scenario.base": registered,
		"Phase.kind": spec.KindNames(), "Fault.fault": units.Names(chaos.Catalogue(), func(k chaos.Kind) string { return k.Name }),
	}
	for _, k := range spec.Kinds {
		for field, of := range k.Words {
			words["Phase."+field] = of
		}
	}
	return words
}

func generateSchema() []byte {
	b := &schemaBuilder{docs: comments(), choices: choices()}
	s := b.of(reflect.TypeFor[spec.Scenario](), "")
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "zkbench scenario"
	fields := s.Properties
	version := &schema{Type: "string", Pattern: versioned}
	specimen := fields["specimens"].Items.Properties
	specimen["subject"] = &schema{Description: specimen["subject"].Description, AnyOf: []*schema{{Type: "string", Enum: registered}, version}}
	driver := &schema{Type: "string", Pattern: spec.DriverName.String()}
	fields["subjects"].Items = &schema{AnyOf: []*schema{fields["subjects"].Items, version, driver, fields["drivers"].Items}}
	fields["base"] = &schema{Description: fields["base"].Description, AnyOf: []*schema{fields["base"], version, driver}}
	s.AnyOf = []*schema{{Required: []string{"subjects", "clients"}}, {Required: []string{"specimens"}}}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

type schemaBuilder struct {
	docs    map[string]string // by Type.field
	choices map[string][]string
}

func (b *schemaBuilder) of(t reflect.Type, field string) *schema {
	if t == reflect.TypeFor[time.Duration]() {
		// 0 needs no unit and is a number in YAML.
		return &schema{Type: []string{"string", "integer"}, Pattern: durationPattern, Minimum: new(0.0), Maximum: new(0.0)}
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &schema{Type: "object", Properties: map[string]*schema{}, Additional: false, Required: required[t.Name()]}
		for i, name := range spec.FieldNames(t) {
			s.Properties[name] = b.of(t.Field(i).Type, t.Name()+"."+name)
			s.Properties[name].Description = b.docs[t.Name()+"."+name]
		}
		return s
	case reflect.Slice:
		return &schema{Type: "array", Items: b.of(t.Elem(), field)}
	case reflect.Map:
		return &schema{Type: "object", Additional: b.of(t.Elem(), "")}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	case reflect.Float64:
		return &schema{Type: "number"}
	}
	if words := b.choices[field]; words != nil {
		return &schema{Type: "string", Enum: words}
	}
	if field != "" {
		return &schema{Type: "string"}
	}
	return &schema{Type: []string{"string", "number", "boolean"}} // any scalar is accepted as text
}

func comments() map[string]string {
	docs := map[string]string{}
	for _, f := range documented {
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				commentsOf(spec, docs)
			}
			return true
		})
	}
	return docs
}

// commentsOf adds the comments on the fields of a struct type.
func commentsOf(spec *ast.TypeSpec, docs map[string]string) {
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
		text := cmp.Or(f.Doc.Text(), f.Comment.Text())
		docs[spec.Name.Name+"."+name] = strings.Join(strings.Fields(text), " ")
	}
}

// generated is the schema before any test has run: some register subjects or change what there is.
var generated []byte

func TestSchema_versionsOfThisMachineAreNotInIt(t *testing.T) {
	if bytes.Contains(generated, []byte("curator@")) {
		t.Error("the schema names versions that this machine has")
	}
	specimens := "name: x\nsession_timeout: 4s\nphases: [{name: a, kind: drain}]\nspecimens: [{subject: %s, provocation: p}]\n"
	for subject, known := range map[string]bool{"lock/curator@5.7.1": true, "lock/curator": true, "lock/nobody": false, "lock/curator@new": false} {
		var v any
		if err := yaml.Unmarshal(fmt.Appendf(nil, specimens, subject), &v); err != nil {
			t.Fatal(err)
		}
		if why := follows(parsedSchema(t), v, ""); (why == "") != known {
			t.Errorf("a specimen's subject %s: %q", subject, why)
		}
	}
}

func TestSchema_isCurrent(t *testing.T) {
	want := generated
	if os.Getenv("UPDATE_SCHEMA") != "" {
		if err := os.WriteFile("spec/schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(spec.Schema, want) {
		t.Error("spec/schema.json does not describe the fields of Scenario: run go generate ./scenarios/spec")
	}
}

func parsedSchema(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
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
	for _, name := range append(spec.Builtin(), "varied") {
		text := []byte(varied)
		if name != "varied" {
			_, text, _ = spec.Source(name)
		}
		if why := follows(s, asJSON(t, text), name); why != "" {
			t.Error(why)
		}
	}
}

func TestSchema_wrongFilesDoNot(t *testing.T) {
	s := parsedSchema(t)
	for _, name := range []string{"ten", "shape", "kinds"} {
		text, err := os.ReadFile(filepath.Join("spec/testdata/wrong", name+".yaml"))
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
