package spec

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Keys of a matrix and of overrides that set a field of all phases.
const (
	allHold     = "hold"     // of every phase
	allDuration = "duration" // of every phase with a duration; the times of its faults change in proportion
)

const tickKey = "tick"

// Combinations returns every choice of one value for each key of the matrix, as a cell without subject and
// clients. Keys are in alphabetical order, except that the tick comes first, so that trials that can share an
// ensemble are together. The last key varies fastest.
func (s *Scenario) Combinations() ([]Cell, error) {
	keys := slices.Sorted(maps.Keys(s.Matrix))
	if i := slices.Index(keys, tickKey); i > 0 {
		keys = slices.Insert(slices.Delete(keys, i, i+1), 0, tickKey)
	}
	choices := []map[string]string{{}}
	for _, key := range keys {
		var longer []map[string]string
		for _, choice := range choices {
			for _, value := range s.Matrix[key] {
				c := maps.Clone(choice)
				c[key] = value
				longer = append(longer, c)
			}
		}
		choices = longer
	}
	var out []Cell
	for _, choice := range choices {
		chosen, err := s.withChoice(choice)
		if err != nil {
			return nil, err
		}
		out = append(out, Cell{Scenario: chosen, Choice: choice, suffix: suffix(keys, choice)})
	}
	return out, nil
}

// withChoice returns the scenario with a choice applied, without a matrix. The error describes invalid values.
func (s *Scenario) withChoice(choice map[string]string) (*Scenario, error) {
	plain := *s
	plain.Matrix = nil
	text, err := plain.Dump()
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(choice)) {
		if key == allHold || key == allDuration {
			continue
		}
		if err := set(&root, key, choice[key]); err != nil {
			return nil, err
		}
	}
	out, problems := decode(&root)
	if len(problems) > 0 {
		return nil, problems
	}
	if err := out.setAll(choice); err != nil {
		return nil, err
	}
	out.copyBuiltinMarks(s)
	return out, out.check().err()
}

func (s *Scenario) setAll(choice map[string]string) error {
	for _, key := range []string{allHold, allDuration} {
		text, ok := choice[key]
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%s: %q is not a duration; want a number and a unit, for example 20ms", key, text)
		}
		for i := range s.Phases {
			if p := &s.Phases[i]; key == allHold {
				p.Hold = d
			} else if p.Duration > 0 {
				p.resize(d)
			}
		}
	}
	return nil
}

// invariantFields has the fields that a matrix cannot vary, with the reasons.
var invariantFields = map[string]string{
	"subjects": "list the values in subjects itself", "clients": "list the values in clients itself", "images": "list the values in images itself",
	"homes": "list the values in homes itself", "trials": "it sets how often each cell runs",
	"base": "all trials have the same base", "drivers": "all trials have the same drivers", "name": "the scenario has one name", "about": "it describes the scenario",
	"matrix": "a matrix cannot contain a matrix", "thresholds": "they apply to all trials; use a parameter in the threshold, and vary params.NAME",
	"warmup": "the warm-up precedes all trials", "only": "it selects the trials to run",
}

// validateMatrix checks each value alone, and then each combination of values, if the rest of the scenario is valid.
func (s *Scenario) validateMatrix(valid bool, problem ProblemFunc) {
	size, restValid := 1, valid
	bad := func(field, format string, args ...any) {
		valid = false
		problem("matrix."+field, format, args...)
	}
	named := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s.Matrix)) {
		values, all := s.Matrix[key], forAllPhases(key)
		size *= len(values)
		other := named[s.field(key)]
		named[s.field(key)] = key
		field, _, _ := strings.Cut(key, ".")
		switch {
		case other != "":
			bad(key, "is the same field as matrix.%s", other)
		case all != key && s.Matrix[all] != nil:
			bad(key, "is already set by matrix.%s, which applies to all phases", all)
		case invariantFields[field] != "":
			bad(key, "cannot be varied in a matrix: %s", invariantFields[field])
		case len(values) == 0:
			bad(key, "has no values")
		default:
			var chosen []*Scenario
			for i, value := range values {
				at := key + "." + strconv.Itoa(i)
				one, err := s.withChoice(map[string]string{key: value})
				if err != nil && restValid {
					bad(at, "%s: %s", value, strings.ReplaceAll(err.Error(), "\n", "; "))
				} else if err == nil && slices.ContainsFunc(chosen, func(o *Scenario) bool { return reflect.DeepEqual(o, one) }) {
					bad(at, "%s occurs twice", value)
				}
				chosen = append(chosen, one)
			}
		}
	}
	if cells := size * len(s.Subjects) * len(s.Clients) * max(s.Trials, 1) * len(s.PerEnsemble()); cells > maxCells {
		problem("matrix", "results in %d trials; the maximum is %d", cells, maxCells)
	} else if valid && len(s.Matrix) > 0 {
		s.validateChoices(problem)
	}
}

// validateChoices checks that every combination of values is valid and that trial names are unique.
func (s *Scenario) validateChoices(bad ProblemFunc) {
	all, err := s.Combinations()
	if err != nil && len(s.Matrix) > 1 {
		bad("matrix", "%v", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.suffix] {
			bad("matrix", "two choices would give trials the same name, %q: values must differ in letters, digits, dots, dashes or underscores", strings.TrimPrefix(c.suffix, "-"))
			return
		}
		seen[c.suffix] = true
	}
}

// forAllPhases returns hold or duration if key sets this field of a single phase, else key.
func forAllPhases(key string) string {
	if steps := strings.Split(key, "."); len(steps) == 3 && steps[0] == "phases" && (steps[2] == allHold || steps[2] == allDuration) {
		return steps[2]
	}
	return key
}

var invalidNameChars = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// suffix returns the part of a trial's name for a choice, with the keys in the given order.
func suffix(keys []string, choice map[string]string) (name string) {
	for _, key := range keys {
		name += "-" + key[strings.LastIndexByte(key, '.')+1:] + "-" + choice[key]
	}
	return invalidNameChars.ReplaceAllString(name, "_")
}

func (s *Scenario) parameters() []string {
	names := slices.Collect(maps.Keys(Cell{Scenario: s}.Params()))
	if len(s.Versions()) > 1 {
		names = append(names, VersionKey)
	}
	for key := range s.Matrix {
		names = append(names, s.field(strings.TrimPrefix(key, "params.")))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// field returns the parameter name of a path in the scenario: the field of a phase is named with the
// phase's name, any other field by its path.
func (s *Scenario) field(path string) string {
	steps := strings.Split(path, ".")
	if len(steps) < 3 || steps[0] != "phases" {
		return path
	}
	if i, err := strconv.Atoi(steps[1]); err == nil && i >= 0 && i < len(s.Phases) {
		steps[1] = s.Phases[i].Name
	}
	return strings.Join(steps[1:], ".")
}
