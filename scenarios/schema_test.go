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
	"Specimen": {"subject", "cell"},
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
		for field, of := range k.Enums {
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
	specimens := "name: x\nsession_timeout: 4s\nphases: [{name: a, kind: drain}]\nspecimens: [{subject: %s, cell: p}]\n"
	for subject, known := range map[string]bool{"lock/curator@5.7.1": true, "lock/curator": true, "lock/nobody": false, "lock/curator@new": false} {
		if why := parsedSchema(t).follows(t, asJSON(t, fmt.Appendf(nil, specimens, subject)), ""); (why == "") != known {
			t.Errorf("a specimen's subject %s: %q", subject, why)
		}
	}
}

func TestSchema_isCurrent(t *testing.T) {
	if os.Getenv("UPDATE_SCHEMA") != "" {
		must(t, os.WriteFile("spec/schema.json", generated, 0o644))
	} else if !bytes.Equal(spec.Schema, generated) {
		t.Error("spec/schema.json does not describe the fields of Scenario: run go generate ./scenarios/spec")
	}
}

// parsedSchema is what editors read. It has no word of JSON Schema that the type schema does not know.
func parsedSchema(t *testing.T) *schema {
	t.Helper()
	known := json.NewDecoder(bytes.NewReader(spec.Schema))
	known.DisallowUnknownFields()
	var s schema
	must(t, known.Decode(&s))
	return &s
}

// additional returns the schema of properties that are not named.
func (s *schema) additional(t *testing.T) *schema {
	text, err := json.Marshal(s.Additional)
	must(t, err)
	var a schema
	must(t, json.Unmarshal(text, &a))
	return &a
}

// follows says why a value does not follow the schema; "" if it does.
func (s *schema) follows(t *testing.T, v any, path string) string {
	if types, _ := s.Type.([]any); s.Type != nil && !slices.ContainsFunc(append(types, s.Type), func(kind any) bool { return isOf(kind, v) }) {
		return fmt.Sprintf("%s: %v is no %v", path, v, s.Type)
	}
	if len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, func(one *schema) bool { return one.follows(t, v, path) == "" }) {
		return path + ": none of the alternatives"
	}
	switch v := v.(type) {
	case string:
		if s.Enum != nil && !slices.Contains(s.Enum, v) {
			return fmt.Sprintf("%s: %v is not one of %v", path, v, s.Enum)
		}
		if !regexp.MustCompile(s.Pattern).MatchString(v) {
			return fmt.Sprintf("%s: %q does not match", path, v)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			return fmt.Sprintf("%s: %v is not between %v and %v", path, v, *s.Minimum, *s.Maximum)
		}
	case []any:
		for i, item := range v {
			if s.Items == nil {
				break
			}
			if why := s.Items.follows(t, item, fmt.Sprintf("%s.%d", path, i)); why != "" {
				return why
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return path + ": no " + name
			}
		}
		for name, child := range v {
			of := s.Properties[name]
			if of == nil && s.Additional == false {
				return path + "." + name + ": not known"
			}
			if of == nil {
				of = s.additional(t)
			}
			if why := of.follows(t, child, path+"."+name); why != "" {
				return why
			}
		}
	}
	return ""
}

func isOf(kind, v any) bool {
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
	must(t, err)
	var out any
	must(t, json.Unmarshal(b, &out))
	return out
}

func TestSchema_acceptsBuiltInScenariosAndNoWrongFiles(t *testing.T) {
	texts := map[string]string{"varied": varied}
	for _, name := range spec.Builtin() {
		_, text, _ := spec.Source(name)
		texts[name] = string(text)
	}
	for _, name := range []string{"ten", "shape", "kinds"} {
		text, err := os.ReadFile(filepath.Join("spec/testdata/wrong", name+".yaml"))
		must(t, err)
		texts["wrong/"+name] = string(text)
	}
	for name, text := range texts {
		if why := parsedSchema(t).follows(t, asJSON(t, []byte(text)), name); (why != "") != strings.HasPrefix(name, "wrong/") {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// An editor shows the comment on the field: each must have one.
func TestSchema_everyFieldIsDescribed(t *testing.T) {
	var walk func(s *schema, path string)
	walk = func(s *schema, path string) {
		for name, child := range s.Properties {
			if strings.TrimSpace(child.Description) == "" {
				t.Errorf("%s.%s has no comment on its field in Go", path, name)
			}
			walk(child, path+"."+name)
			if child.Items != nil {
				walk(child.Items, path+"."+name)
			}
		}
	}
	walk(parsedSchema(t), "")
}
