package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
)

// Phase is a part of a trial. Each kind of phase accepts some of the fields.
type Phase struct {
	Name     string        `yaml:"name"`                 // name of the phase in results and plots; unique in the scenario
	Kind     string        `yaml:"kind"`                 // kind of phase (zkbench help scenarios)
	Rounds   int           `yaml:"rounds,omitempty"`     // drain, succession, failover: number of rounds; flap: number of flaps
	Duration time.Duration `yaml:"duration,omitempty"`   // churn, stream, connect: how long the phase runs
	Leave    string        `yaml:"leave,omitempty"`      // succession: how candidates leave
	Order    []int         `yaml:"order,omitempty,flow"` // succession: the clients that leave, in order; clients are numbered in the order of joining
	// Contenders is the number of clients that act in a churn: the first ones. The other clients only
	// keep their sessions. 0 means all clients.
	Contenders int     `yaml:"contenders,omitempty"`
	Producers  int     `yaml:"producers,omitempty"` // stream of a queue: number of clients that put items, in addition to the consumers
	Rate       float64 `yaml:"rate,omitempty"`      // stream: number of acquires, or of a queue's items, that are due per second
	RateTo     float64 `yaml:"rate_to,omitempty"`   // stream: the rate rises to this value, or until the subject does not keep up
	Steps      int     `yaml:"steps,omitempty"`     // stream: number of equal steps in which the rate rises; continuous if omitted
	Arrivals   string  `yaml:"arrivals,omitempty"`  // stream: constant (the default), or poisson, which is random by the seed
	Size       int     `yaml:"size,omitempty"`      // queue: bytes per item, at least the length of its ID
	// Hold is the minimum time for which a holder keeps the grant. In a drain, the holder also waits for
	// the notifications of the last hand-off, so that those of two releases do not coalesce.
	Hold   time.Duration `yaml:"hold"`
	Faults []Fault       `yaml:"faults,omitempty,flow"` // churn, stream: the fault schedule
	Cause  string        `yaml:"cause,omitempty"`       // failover: the cause that ends the holder's grant
	Cells  []string      `yaml:"cells,omitempty,flow"`  // episode: run only these cells, such as "next exists #1/reply.drop", regardless of also
	Also   []string      `yaml:"also,omitempty,flow"`   // episode: additional faults that a full audit omits by default, such as outage

	builtin bool // part of a built-in scenario, with faults that the user has not requested
}

var common = []string{"name", "kind", "hold"}

func (p *Phase) nonZeroFields() []string {
	var names []string
	v := reflect.ValueOf(*p)
	for i, name := range FieldNames(v.Type()) {
		if !slices.Contains(common, name) && !v.Field(i).IsZero() {
			names = append(names, name)
		}
	}
	return names
}

// Params returns the phase's fields as text by their YAML keys, without name and kind.
func (p *Phase) Params() map[string]string {
	out := map[string]string{}
	var root yaml.Node
	if text, err := yaml.Dump(p); err != nil || yaml.Load(text, &root) != nil {
		return out // not reached: it was read from YAML
	}
	for key, value := range pairs(resolve(&root)) {
		out[key.Value] = value.Value
		if text, err := yaml.Dump(value); value.Kind != yaml.ScalarNode && err == nil {
			out[key.Value] = strings.Join(strings.Fields(string(text)), " ")
		}
	}
	delete(out, "name")
	delete(out, "kind")
	return out
}

// validate checks the phase alone; the problems have paths that begin at the phase.
func (p *Phase) validate(bad ProblemFunc) {
	if p.Name == "" {
		bad("name", "is missing")
	} else if _, number := strconv.Atoi(p.Name); number == nil || !word.MatchString(p.Name) || strings.Contains(p.Name, ".") {
		bad("name", "%q must be a word of letters, digits, dashes and underscores, and not a number", p.Name)
	}
	Between(bad, "hold", p.Hold, 0, MaxDuration)
	Between(bad, "size", p.Size, 0, maxSize)
	for j, f := range p.Faults {
		f.validate(bad.below(fmt.Sprintf("faults.%d", j)), p.Duration)
	}
	k := KindNamed(p.Kind)
	if k == nil {
		bad("kind", "%q is not a kind of phase%s", p.Kind, units.Nearest(p.Kind, KindNames()))
		return
	}
	for _, field := range p.nonZeroFields() {
		if !slices.Contains(k.Fields, field) { // a field without effect is an error
			bad(field, "%s", k.refusal(field))
		}
	}
	k.Validate(p, bad)
}

func (p *Phase) CheckRounds(bad ProblemFunc) { Between(bad, "rounds", p.Rounds, 1, MaxRounds) }

func (p *Phase) CheckDuration(bad ProblemFunc) { Between(bad, "duration", p.Duration, 1, MaxDuration) }

// validateForScenario checks the phase, whose path is at, against the scenario's subjects and numbers of clients.
func (p *Phase) validateForScenario(s *Scenario, at string, bad ProblemFunc) {
	k := KindNamed(p.Kind)
	if k == nil {
		return
	}
	for _, name := range s.Subjects {
		subject, err := s.Find(name)
		if err != nil {
			continue
		}
		if err := k.CheckSupports(subject); err != nil {
			bad(at+".kind", "%v", err)
		} else if k.CheckSubject != nil {
			k.CheckSubject(p, subject, bad.below(at))
		}
	}
	if len(s.Clients) > 0 && slices.Min(s.Clients) > 0 {
		fewest := slices.Min(s.Clients)
		for j, f := range p.Faults {
			f.validateClients(bad.below(fmt.Sprintf("%s.faults.%d", at, j)), fewest)
		}
	}
	if k.MinClients == nil {
		return
	}
	least, why := k.MinClients(p)
	for _, n := range s.Clients {
		if n >= 1 && n < least {
			bad("clients", "%s: %d is less than %d: %s", at, n, least, why)
		}
	}
}

func (p *Phase) resize(d time.Duration) {
	ratio := float64(d) / float64(p.Duration)
	for i := range p.Faults {
		f := &p.Faults[i]
		for _, x := range []*time.Duration{&f.At, &f.For, &f.Every, &f.Jitter} {
			*x = time.Duration(float64(*x) * ratio).Truncate(time.Millisecond)
		}
	}
	p.Duration = d
}

// validateThresholds reports thresholds that are misspelt or that the scenario cannot evaluate.
func (s *Scenario) validateThresholds(bad ProblemFunc) {
	phases := units.Names(s.Phases, func(p Phase) string { return p.Name })
	for i, expr := range s.Thresholds {
		at := fmt.Sprintf("thresholds.%d", i)
		c, err := report.ParseThreshold(expr)
		if err != nil {
			bad(at, "%v", err)
			continue
		}
		switch parameter, phase := c.Parameter(), c.Phase(); {
		case parameter != "" && !slices.Contains(s.parameters(), parameter):
			bad(at, "threshold %q: the scenario has no parameter %q%s", c.Expr, parameter, units.Nearest(parameter, s.parameters()))
		case parameter != "" && s.Params[parameter] != "" && c.IncomparableReason(s.Params[parameter]) != "":
			bad(at, "threshold %q: %s", c.Expr, c.IncomparableReason(s.Params[parameter]))
		case c.Value[0] == '-' && c.Op[0] == '<':
			bad(at, "threshold %q: no metric is below 0", c.Expr)
		case phase != "" && !slices.Contains(phases, phase):
			bad(at, "threshold %q: the scenario has no phase %q%s", c.Expr, phase, units.Nearest(phase, phases))
		case c.ComparesWithBase() && s.Base == "":
			bad(at, "threshold %q: the scenario has no base; name one, for example base: %s", c.Expr, strings.Join(s.Subjects[:min(1, len(s.Subjects))], ""))
		}
	}
}

// Values of Phase.Arrivals.
const (
	Constant = "constant" // operations are due at even intervals; the default
	Poisson  = "poisson"  // operations are due at random times, independent of each other
)
