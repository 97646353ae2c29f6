package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Keys of a matrix, and of overrides, that are no fields of a scenario, but of all its
// phases.
const (
	allHold     = "hold"     // of every phase
	allDuration = "duration" // of every phase that has one; its faults move with it
)

const tickKey = "tick"

// combination is one choice from the scenario's matrix.
type combination struct {
	scenario *Scenario         // as it is with that choice; it has no matrix
	params   map[string]string // the choice, by key
	suffix   string            // makes it unique in the name of a trial
}

// combinations returns every choice of one value for each key. Keys are in
// alphabetical order, the last one's values change fastest; but the tick is the
// first, so that all that can share an ensemble stands together.
func (s *Scenario) combinations() ([]combination, error) {
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
	var out []combination
	for _, choice := range choices {
		chosen, err := s.with(choice)
		if err != nil {
			return nil, err
		}
		out = append(out, combination{chosen, choice, suffix(keys, choice)})
	}
	return out, nil
}

// with returns the scenario with the values of a choice, and without a matrix. The
// error says what makes no sense in it.
func (s *Scenario) with(choice map[string]string) (*Scenario, error) {
	plain := *s
	plain.Matrix = nil
	text, err := plain.dump()
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
	out.markAs(s)
	return out, out.check().err()
}

// setAll sets what a choice has for all phases.
func (s *Scenario) setAll(choice map[string]string) error {
	for _, key := range []string{allHold, allDuration} {
		text, ok := choice[key]
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%s: %q is no duration; want a number and a unit, like 20ms", key, text)
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

// listed are fields that a matrix cannot have, because they say what it is made of.
var listed = map[string]string{
	"subjects": "it has a list of its own", "clients": "it has a list of its own", "images": "it has a list of its own",
	"homes": "it has a list of its own", "trials": "it says how often each cell is run",
	"base": "it is the same for all", "drivers": "they are the same for all", "name": "it is the same for all", "about": "it is the same for all",
	"matrix": "a matrix has no matrix", "thresholds": "they hold for all; compare with a parameter, and vary that: params.NAME",
	"warmup": "it comes before all trials", "only": "it says which trials there are",
}

// validateMatrix tries every value alone, and if each makes sense, every choice.
func (s *Scenario) validateMatrix(known problems, bad problemFunc) {
	size, sound := 1, true
	named := map[string]string{} // keys, by the field that they name
	for _, key := range slices.Sorted(maps.Keys(s.Matrix)) {
		values := s.Matrix[key]
		size *= len(values)
		if other, twice := named[s.field(key)]; twice {
			bad("matrix."+key, "is the same field as matrix.%s", other)
			sound = false
			continue
		}
		named[s.field(key)] = key
		if all := forAllPhases(key); all != key && s.Matrix[all] != nil {
			bad("matrix."+key, "is set by matrix.%s, which is of all phases", all)
			sound = false
			continue
		}
		field, _, _ := strings.Cut(key, ".")
		if why, ok := listed[field]; ok {
			bad("matrix."+key, "cannot be varied here: %s", why)
			sound = false
			continue
		}
		if len(values) == 0 {
			bad("matrix."+key, "has no values")
		}
		for i, value := range values {
			at := "matrix." + key + "." + strconv.Itoa(i)
			if slices.Contains(values[:i], value) {
				bad(at, "%s stands here twice", value)
			} else if why := s.tryChoice(known, map[string]string{key: value}); why != "" {
				bad(at, "%s: %s", value, why)
				sound = false
			}
		}
	}
	if cells := size * len(s.Subjects) * len(s.Clients) * max(s.Trials, 1) * len(s.perEnsemble()); cells > maxCells {
		bad("matrix", "makes %d trials, more than %d", cells, maxCells)
		return
	}
	if sound && len(known) == 0 && len(s.Matrix) > 0 {
		s.validateChoices(bad)
	}
}

// validateChoices tries every choice: each makes sense, and names trials of its own.
func (s *Scenario) validateChoices(bad problemFunc) {
	all, err := s.combinations()
	if err != nil && len(s.Matrix) > 1 {
		bad("matrix", "%v", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.suffix] {
			bad("matrix", "two choices would have trials of the same name, %q: values differ in letters, digits, dots, dashes or underscores", strings.TrimPrefix(c.suffix, "-"))
			return
		}
		seen[c.suffix] = true
	}
}

// forAllPhases is the key that sets a field of all phases, where there is such; else key itself.
func forAllPhases(key string) string {
	if steps := strings.Split(key, "."); len(steps) == 3 && steps[0] == "phases" && (steps[2] == allHold || steps[2] == allDuration) {
		return steps[2]
	}
	return key
}

// tryChoice says what is wrong with a choice, beyond what is wrong without it.
func (s *Scenario) tryChoice(known problems, choice map[string]string) string {
	_, err := s.with(choice)
	ms, ok := err.(problems)
	if err != nil && !ok {
		return err.Error()
	}
	var texts []string
	for _, m := range ms {
		same := func(k *problem) bool { return k.Path == m.Path && k.Text == m.Text }
		if !slices.ContainsFunc(known, same) {
			texts = append(texts, (&problem{Path: m.Path, Text: m.Text}).Error())
		}
	}
	return strings.Join(texts, "; ")
}

// unnamable is what no name of a trial has.
var unnamable = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// suffix names a choice, its keys in order.
func suffix(keys []string, choice map[string]string) (name string) {
	for _, key := range keys {
		name += "-" + key[strings.LastIndexByte(key, '.')+1:] + "-" + choice[key]
	}
	return unnamable.ReplaceAllString(name, "_")
}

// parameters are the names of what a threshold may compare with.
func (s *Scenario) parameters() []string {
	names := slices.Collect(maps.Keys(cell{Scenario: s}.params()))
	if len(s.versions()) > 1 {
		names = append(names, versionKey)
	}
	for key := range s.Matrix {
		names = append(names, s.field(strings.TrimPrefix(key, "params.")))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// field returns the name by which a path in the scenario goes among the parameters:
// a phase's field by the phase's name, anything else as it is.
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
