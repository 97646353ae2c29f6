package scenarios

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// The comments on the fields are shown by editors, so they are written for
// readers of the code and authors of scenarios.
//
//go:embed scenario.go driver.go phase.go fault.go zoo.go commits.go
var source embed.FS

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

// choices returns the allowed values of fields that have a fixed set.
func choices() map[string][]string {
	words := map[string][]string{
		"Scenario.subjects": subjectNames(), "Scenario.base": subjectNames(), "Specimen.subject": subjectNames(),
		"Phase.kind": kindNames(), "Fault.fault": faultNames(),
	}
	for _, k := range kinds {
		for field, of := range k.words {
			words["Phase."+field] = of
		}
	}
	return words
}

// Schema returns a JSON schema of scenario files, for editors.
func Schema() ([]byte, error) {
	b := &schemaBuilder{docs: comments(), choices: choices()}
	s := b.of(reflect.TypeFor[Scenario](), "")
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "zkbench scenario"
	fields := s.Properties
	driver := &schema{Type: "string", Pattern: driverName.String()}
	fields["subjects"].Items = &schema{AnyOf: []*schema{fields["subjects"].Items, driver, fields["drivers"].Items}}
	fields["base"] = &schema{Description: fields["base"].Description, AnyOf: []*schema{fields["base"], driver}}
	s.AnyOf = []*schema{{Required: []string{"subjects", "clients"}}, {Required: []string{"specimens"}}}
	return json.MarshalIndent(s, "", "  ")
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
		for i, name := range fieldNames(t) {
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
	files, _ := source.ReadDir(".")
	for _, f := range files {
		text, _ := source.ReadFile(f.Name())
		tree, _ := parser.ParseFile(token.NewFileSet(), f.Name(), text, parser.ParseComments|parser.SkipObjectResolution)
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

// problem is a thing that is wrong with a scenario.
type problem struct {
	File         string // "" if the scenario was not read from a file
	Line, Column int    // from 1; 0 if the problem is in an override
	Path         string // of the field, such as phases.0.hold
	Text         string // the fields of the scenario and the allowed fields

	meant string // path of the missing field that this one misspells, or ""
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

// field returns the path without the index of a list's item, which the text names.
func (p *problem) field() string {
	if i := strings.LastIndexByte(p.Path, '.'); i > 0 {
		if _, err := strconv.Atoi(p.Path[i+1:]); err == nil {
			return p.Path[:i]
		}
	}
	return p.Path
}

type problems []*problem

// Error returns one line per problem.
func (ps problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func (ps *problems) add(path, format string, args ...any) {
	*ps = append(*ps, &problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// err returns ps as an error, or nil.
func (ps problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (ps problems) in(file string) problems {
	for _, p := range ps {
		p.File = file
	}
	return ps
}

// locate sets the missing positions of problems: the position of the field, or of the nearest enclosing
// node.
func (ps problems) locate(root *yaml.Node) {
	for _, p := range ps {
		if p.Line > 0 {
			continue
		}
		if n := find(root, p.Path); n != nil {
			p.Line, p.Column = n.Line, n.Column
		}
	}
}

// sort sorts the problems by position; missing required fields come last.
func (ps problems) sort() {
	missing := func(p *problem) int {
		if strings.HasPrefix(p.Text, "is required") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(ps, func(a, b *problem) int {
		return cmp.Or(cmp.Compare(missing(a), missing(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// about reports whether there is a problem with the field at path, an enclosing field, or a field
// inside it: the other problems follow from it.
func (ps problems) about(path string) bool {
	return slices.ContainsFunc(ps, func(p *problem) bool {
		return within(path, p.Path) || within(p.Path, path) || p.meant != "" && within(path, p.meant)
	})
}

// beyond returns the problems that do not follow from known ones.
func (ps problems) beyond(known problems) problems {
	return slices.DeleteFunc(ps, func(p *problem) bool { return known.about(p.Path) })
}

// problemFunc records a problem with a field, by the field's path.
type problemFunc func(field, format string, args ...any)

func (f problemFunc) in(path string) problemFunc {
	return func(field, format string, args ...any) { f(path+"."+field, format, args...) }
}

// between checks that a value is from least to most and not NaN.
func between[T cmp.Ordered](bad problemFunc, field string, value, least, most T) {
	if !(value >= least && value <= most) {
		bad(field, "%v is not between %v and %v", value, least, most)
	}
}
