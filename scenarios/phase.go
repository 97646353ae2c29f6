package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/report/units"
)

// Phase is one part of a trial. Each kind of phase knows some of the fields.
type Phase struct {
	Name     string        `yaml:"name"`                 // of the phase in results and plots; unique in the scenario
	Kind     string        `yaml:"kind"`                 // what happens in it
	Rounds   int           `yaml:"rounds,omitempty"`     // drain, succession, failover; flap: how many flaps
	Duration time.Duration `yaml:"duration,omitempty"`   // churn, stream
	Leave    string        `yaml:"leave,omitempty"`      // succession: how candidates leave
	Order    []int         `yaml:"order,omitempty,flow"` // succession: who leaves, one after the other: client numbers, which is the order in which they joined
	Warn     int           `yaml:"warn,omitempty"`       // succession: an observer warns when fewer candidates stand than this
	// Contenders is, in a churn, how many of the clients act: the first ones. The others only
	// have their sessions. 0 is all.
	Contenders int     `yaml:"contenders,omitempty"`
	Producers  int     `yaml:"producers,omitempty"` // stream of a queue: clients beside the consumers
	Rate       float64 `yaml:"rate,omitempty"`      // stream: acquires, or a queue's items, due a second
	RateTo     float64 `yaml:"rate_to,omitempty"`   // stream: a ramp, which ends at this rate, or before it where the subject no longer keeps up
	Steps      int     `yaml:"steps,omitempty"`     // stream: in how many steps of the same length a ramp rises; it rises evenly without
	Arrivals   string  `yaml:"arrivals,omitempty"`  // stream: constant (the default), or poisson, drawn from the seed
	Size       int     `yaml:"size,omitempty"`      // of a queue's items: bytes, at least those of the identity
	// Hold is how long a holder keeps the grant, at least. In a drain it keeps it
	// longer where the wake-ups of the last hand-off are still under way, so that
	// no two releases coalesce.
	Hold   time.Duration `yaml:"hold"`
	Faults []Fault       `yaml:"faults,omitempty,flow"` // churn, stream: what goes wrong, and when
	Cause  string        `yaml:"cause,omitempty"`       // failover: what happens to the holder
	Cells  []string      `yaml:"cells,omitempty,flow"`  // episode: play these only, like "next exists #1/reply.drop"
	Depth  int           `yaml:"depth,omitempty"`       // episode: how many faults strike in one; 2 draws pairs, for the duration

	builtin bool // of a built-in scenario, and no flag sets its faults or its rounds
}

// common are the fields that every kind of phase knows.
var common = []string{"name", "kind", "hold"}

// given returns the names of the fields that are set, but for the common ones.
func (p *Phase) given() []string {
	var names []string
	v := reflect.ValueOf(*p)
	for i, name := range fieldNames(v.Type()) {
		if !slices.Contains(common, name) && !v.Field(i).IsZero() {
			names = append(names, name)
		}
	}
	return names
}

// params are the fields of the phase as the scenario has them, by their names in YAML.
func (p *Phase) params() map[string]string {
	out := map[string]string{}
	var root yaml.Node
	if text, err := yaml.Dump(p); err != nil || yaml.Load(text, &root) != nil {
		return out // cannot be: it was read from YAML
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

// validate checks the phase alone; fields are named without their path.
func (p *Phase) validate(bad problemFunc) {
	if p.Name == "" {
		bad("name", "is missing")
	} else if _, number := strconv.Atoi(p.Name); number == nil || !word.MatchString(p.Name) || strings.Contains(p.Name, ".") {
		bad("name", "%q must be a word of letters, digits, dashes and underscores, and no number", p.Name)
	}
	between(bad, "hold", p.Hold, 0, maxDuration)
	between(bad, "size", p.Size, 0, maxSize)
	for j, f := range p.Faults {
		f.validate(bad.in(fmt.Sprintf("faults.%d", j)), p.Duration)
	}
	k := kindNamed(p.Kind)
	if k == nil {
		bad("kind", "%q is not a kind of phase%s", p.Kind, units.Nearest(p.Kind, kindNames()))
		return
	}
	for _, field := range p.given() {
		if !slices.Contains(k.fields, field) { // a field without effect would lie about what was run
			bad(field, "%s", k.refusal(field))
		}
	}
	k.validate(p, bad)
}

// rounds checks the rounds of a phase that ends when they are done.
func (p *Phase) rounds(bad problemFunc) { between(bad, "rounds", p.Rounds, 1, maxRounds) }

// duration checks the duration of a phase that ends after a time.
func (p *Phase) duration(bad problemFunc) { between(bad, "duration", p.Duration, 1, maxDuration) }

// fits checks that the phase goes with the scenario's subjects and client counts. at is
// the path of the phase.
func (p *Phase) fits(s *Scenario, at string, bad problemFunc) {
	k := kindNamed(p.Kind)
	if k == nil {
		return
	}
	for _, name := range s.Subjects {
		subject, err := s.find(name)
		if err != nil {
			continue // another check says so
		}
		if err := k.suits(subject); err != nil {
			bad(at+".kind", "%v", err)
		} else if k.fits != nil {
			k.fits(p, subject, bad.in(at))
		}
	}
	if fewest := s.fewest(); fewest > 0 {
		for j, f := range p.Faults {
			f.fitsClients(bad.in(fmt.Sprintf("%s.faults.%d", at, j)), fewest)
		}
	}
	for _, n := range s.Clients {
		if k.tooFew == nil || n < 1 { // another check says so
			continue
		}
		if why := k.tooFew(p, n); why != "" {
			bad("clients", "%s: %s", at, why)
		}
	}
}

// fewest is the smallest count of clients; 0 where none is named.
func (s *Scenario) fewest() int {
	if len(s.Clients) == 0 {
		return 0
	}
	return slices.Min(s.Clients)
}

// resize gives the phase another duration; its faults keep their place in it.
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
