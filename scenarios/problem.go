package scenarios

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Schema is a JSON schema of scenario files, for editors. A test generates it from the fields of
// Scenario and their comments.
//
//go:generate env UPDATE_SCHEMA=1 go test -run TestSchema_isCurrent .
//go:embed schema.json
var Schema []byte

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
