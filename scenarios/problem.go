package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// problem is one thing that is wrong with a scenario.
type problem struct {
	File         string // "" when the scenario was not read from one
	Line, Column int    // 1 based; 0 where the problem is not in the file's text, but in what was written over it
	Path         string // the field's, like phases.0.hold
	Text         string // what it has, and what it may have

	meant string // the path of the field that is missing because this one's name is misspelt; else ""
}

// Error is one line: FILE:LINE:COLUMN: FIELD: what is wrong.
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

// field is the path without the index of a list's item: the text says which it is.
func (p *problem) field() string {
	if i := strings.LastIndexByte(p.Path, '.'); i > 0 {
		if _, err := strconv.Atoi(p.Path[i+1:]); err == nil {
			return p.Path[:i]
		}
	}
	return p.Path
}

// problems is everything that is wrong with a scenario, in the order of the file.
type problems []*problem

// Error is one line for each problem.
func (ps problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// add adds what is wrong with the field at path.
func (ps *problems) add(path, format string, args ...any) {
	*ps = append(*ps, &problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// err is the problems as an error, nil where there is none.
func (ps problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// in says which file the problems are in.
func (ps problems) in(file string) problems {
	for _, p := range ps {
		p.File = file
	}
	return ps
}

// locate gives every problem that has none a place in the tree: that of its field,
// or of the nearest thing around it that was written.
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

// sort puts the problems into the order of the file; a required field that is missing comes last.
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

// about says whether a problem is already known about the field at path, or about
// something around it or in it: the first is the cause, the others follow from it.
func (ps problems) about(path string) bool {
	return slices.ContainsFunc(ps, func(p *problem) bool {
		return within(path, p.Path) || within(p.Path, path) || p.meant != "" && within(path, p.meant)
	})
}

// beyond leaves out what follows from the problems that are known.
func (ps problems) beyond(known problems) problems {
	return slices.DeleteFunc(ps, func(p *problem) bool { return known.about(p.Path) })
}

// problemFunc takes what is wrong with a field, by the field's path.
type problemFunc func(field, format string, args ...any)

// in returns f for the fields below a path.
func (f problemFunc) in(path string) problemFunc {
	return func(field, format string, args ...any) { f(path+"."+field, format, args...) }
}

// between checks that a field has a value from least to most. NaN is not.
func between[T cmp.Ordered](bad problemFunc, field string, value, least, most T) {
	if !(value >= least && value <= most) {
		bad(field, "%v is not between %v and %v", value, least, most)
	}
}
