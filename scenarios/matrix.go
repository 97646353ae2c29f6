package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Keys of a matrix that are no fields of a scenario, but of all its phases.
const (
	matrixHold     = "hold"     // of every phase
	matrixDuration = "duration" // of every phase that has one; its faults move with it
	matrixTick     = "tick"
)

// combination is one choice from the scenario's matrix.
type combination struct {
	scenario *Scenario         // as it is with that choice; it has no matrix
	params   map[string]string // the choice, by key
	keys     []string          // in order
}

// combinations returns every choice of one value for each key. Keys are in
// alphabetical order, the last one's values change fastest; but the tick is the
// first, so that all that can share an ensemble stands together.
func (s *Scenario) combinations() ([]combination, error) {
	keys := slices.Sorted(maps.Keys(s.Matrix))
	if i := slices.Index(keys, matrixTick); i > 0 {
		keys = slices.Insert(slices.Delete(keys, i, i+1), 0, matrixTick)
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
		out = append(out, combination{chosen, choice, keys})
	}
	return out, nil
}

// with returns the scenario with the values of a choice, and without a matrix. The
// error says what makes no sense in it.
func (s *Scenario) with(choice map[string]string) (*Scenario, error) {
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
		if key == matrixHold || key == matrixDuration {
			continue
		}
		if err := set(&root, key, choice[key]); err != nil {
			return nil, err
		}
	}
	out, mistakes := decode(&root)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if err := out.all(choice); err != nil {
		return nil, err
	}
	return out, out.Validate()
}

// all sets what a choice has for all phases.
func (s *Scenario) all(choice map[string]string) error {
	for key, set := range map[string]func(p *Phase, d time.Duration){
		matrixHold: func(p *Phase, d time.Duration) { p.Hold = d },
		matrixDuration: func(p *Phase, d time.Duration) {
			if p.Duration > 0 {
				p.Stretch(d)
			}
		},
	} {
		text, ok := choice[key]
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is no duration; want a number and a unit, like 20ms", text)
		}
		for i := range s.Phases {
			set(&s.Phases[i], d)
		}
	}
	return nil
}

// listed are fields that a matrix cannot have, because they say what it is made of.
var listed = map[string]string{
	"subjects": "it has a list of its own", "clients": "it has a list of its own", "trials": "it says how often each cell is run",
	"base": "it is the same for all", "name": "it is the same for all", "about": "it is the same for all",
	"matrix": "a matrix has no matrix", "thresholds": "they hold for all; compare with a parameter, and vary that: params.NAME",
	"warmup": "it comes before all trials",
}

// validateMatrix tries every value alone, and if each makes sense, every choice.
func (s *Scenario) validateMatrix(known Mistakes, bad func(field, format string, args ...any)) {
	size, sound := 1, true
	for _, key := range slices.Sorted(maps.Keys(s.Matrix)) {
		values := s.Matrix[key]
		size *= len(values)
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
	if cells := size * len(s.Subjects) * len(s.Clients) * max(s.Trials, 1); cells > maxCells {
		bad("matrix", "makes %d trials, more than %d", cells, maxCells)
		return
	}
	if sound && len(known) == 0 && len(s.Matrix) > 1 {
		if _, err := s.combinations(); err != nil {
			bad("matrix", "%v", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
}

// tryChoice says what is wrong with a choice, beyond what is wrong without it.
func (s *Scenario) tryChoice(known Mistakes, choice map[string]string) string {
	_, err := s.with(choice)
	ms, ok := err.(Mistakes)
	if err != nil && !ok {
		return err.Error()
	}
	var texts []string
	for _, m := range ms {
		same := func(k *Mistake) bool { return k.Path == m.Path && k.Text == m.Text }
		if !slices.ContainsFunc(known, same) {
			texts = append(texts, (&Mistake{Path: m.Path, Text: m.Text}).Error())
		}
	}
	return strings.Join(texts, "; ")
}

// suffix tells the combination apart in the name of a trial.
func (c combination) suffix() string {
	var b strings.Builder
	for _, key := range c.keys {
		b.WriteString("-" + key[strings.LastIndexByte(key, '.')+1:] + "-" + c.params[key])
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, b.String())
}

// name writes the cell's choice from the matrix into its parameters.
func (c Cell) name(params map[string]string) {
	for key, value := range c.Choice {
		switch field := c.Scenario.field(key); {
		case key == matrixHold:
			for _, p := range c.Scenario.Phases {
				delete(params, p.Name+".hold")
			}
			params[key] = value
		case strings.HasPrefix(key, "params."): // is there under its own name
		case params[field] == "":
			params[field] = value
		}
	}
}

// Parameters are the names of what a threshold may compare with.
func (s *Scenario) Parameters() []string {
	names := slices.Collect(maps.Keys(s.Params))
	names = append(names, "session_timeout")
	if s.Tick > 0 {
		names = append(names, "tick")
	}
	for _, p := range s.Phases {
		names = append(names, p.Name+".hold")
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

// Batch is those cells of a scenario that can share an ensemble, in order.
type Batch struct {
	Tick  time.Duration // that of the ensemble; 0 where the scenario does not say
	Cells []Cell
}

// Batches returns the cells of the scenario, by the ensemble that they need.
func (s *Scenario) Batches() ([]Batch, error) {
	cells, err := s.Cells()
	if err != nil {
		return nil, err
	}
	var out []Batch
	for _, c := range cells {
		if tick := c.Scenario.Tick; len(out) == 0 || out[len(out)-1].Tick != tick {
			out = append(out, Batch{Tick: tick})
		}
		b := &out[len(out)-1]
		b.Cells = append(b.Cells, c)
	}
	return out, nil
}
