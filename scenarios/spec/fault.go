package spec

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// Fault is an entry of a phase's fault schedule. It is injected once, or repeatedly:
//
//	{at: 2s, fault: session.close, target: holder}
//	{at: 1s, every: 2s, jitter: 1s, fault: session.flap, target: random}
//	{on: client 3 holds, at: 50ms, fault: session.expire, target: "3"}
//	{on: 50% wait, fault: partition.isolate, target: leader, for: 3s}
//
// Entries are independent of each other, and their faults may overlap.
type Fault struct {
	At    time.Duration `yaml:"at"`              // time after the start of the phase, or after the event
	On    string        `yaml:"on,omitempty"`    // the event from which at is counted: first grant, client 3 holds, 50% wait, or 100 grants
	Every time.Duration `yaml:"every,omitempty"` // time from one injection to the next, which waits until the fault is healed
	Times int           `yaml:"times,omitempty"` // the maximum number of repetitions; 0: until the phase ends
	// Jitter is the maximum by which At and each Every become shorter or longer; the seed decides.
	Jitter time.Duration     `yaml:"jitter,omitempty"`
	Fault  string            `yaml:"fault"`            // a name from zkbench list faults
	Target string            `yaml:"target,omitempty"` // holder, leader, a client's number, or a member's name; "" is the fault's default
	For    time.Duration     `yaml:"for,omitempty"`    // time until the fault is healed; 0: at the end of the phase
	Params map[string]string `yaml:"params,omitempty"` // parameters of the fault (zkbench list faults)
	// Essential means that the scenario's question cannot be answered without the fault. A built-in
	// scenario omits, and reports, a fault that is neither essential nor available on this machine. A
	// fault that the user requests (a file, --set, --replay) is always essential.
	Essential bool `yaml:"essential,omitempty"`
}

func (f Fault) validate(bad ProblemFunc, phase time.Duration) {
	if _, err := chaos.Parse(f.Fault, "", nil); err != nil {
		bad("fault", "%v", suggest(err))
	} else if _, err := chaos.Parse(f.Fault, f.Target, nil); err != nil {
		bad("target", "%v", suggest(err))
	} else if _, err := chaos.Parse(f.Fault, f.Target, f.Params); err != nil {
		bad("params", "%v", suggest(err))
	}
	if f.At < 0 || f.At > phase {
		bad("at", "%v is not within the phase (0 to %v)", f.At, phase)
	} else if f.For < 0 || f.At+f.For > phase {
		bad("for", "%v after %v is not within the phase (0 to %v): the fault must be healed before the phase ends", f.For, f.At, phase)
	}
	if _, err := ParseEvent(f.On); err != nil {
		bad("on", "%v", err)
	}
	if f.Every < 0 || f.Every > 0 && f.Every < minEvery {
		bad("every", "%v is less than %v", f.Every, minEvery)
	}
	Between(bad, "times", f.Times, 0, MaxRounds)
	if f.Times > 0 && f.Every == 0 {
		bad("times", "requires every")
	}
	Between(bad, "jitter", f.Jitter, 0, max(cmp.Or(f.Every, f.At), 0)) // of the delay that it varies
	if f.At+f.Jitter+f.For > phase && f.Jitter > 0 {
		bad("jitter", "an injection up to %v after %v is not within the phase (0 to %v)", f.Jitter, f.At, phase)
	}
}

// suggest returns the error's text; for an unknown name, the nearest name replaces the list of names.
func suggest(err error) string {
	var unknown *chaos.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Known) == 0 {
		return err.Error()
	}
	return strings.Replace(err.Error(), unknown.Error(), unknown.Problem+units.Nearest(unknown.Name, unknown.Known), 1)
}

// minEvery is the smallest accepted value of every. It bounds the number of repetitions in a plan.
const minEvery = 10 * time.Millisecond

// markBuiltin marks the phases whose faults the user has not requested: those that are not overridden.
func (s *Scenario) markBuiltin(overrides []string) {
	for i := range s.Phases {
		p := &s.Phases[i]
		requested := slices.ContainsFunc(overrides, func(o string) bool {
			path, _, _ := strings.Cut(o, "=")
			steps := strings.Split(path, ".")
			return steps[0] == "phases" && (len(steps) == 1 || (steps[1] == strconv.Itoa(i) || steps[1] == p.Name) &&
				(len(steps) == 2 || steps[2] == "faults" || steps[2] == "rounds" || steps[2] == "cause"))
		})
		p.builtin = !requested
	}
}

func (s *Scenario) copyBuiltinMarks(from *Scenario) {
	for i := range s.Phases {
		s.Phases[i].builtin = i < len(from.Phases) && from.Phases[i].builtin
	}
}

// CanOmit reports whether the phase can omit all faults of this name: the user has not requested them, and
// none is essential. If the kind of the phase injects the fault, the whole phase is omitted.
func (p *Phase) CanOmit(name string) bool {
	return p.builtin && !slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Fault == name && f.Essential })
}

// kindInjects reports whether the phase's kind injects the fault, as a failover kills a member, and not its schedule.
func (p *Phase) kindInjects(name string) bool {
	return !slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Fault == name })
}

// Without returns the scenario without these faults, and without the phases that lose all their faults.
func (s *Scenario) Without(omitted []report.SkippedFault) *Scenario {
	reduced := *s
	reduced.Phases = nil
	for _, p := range s.Phases {
		if slices.ContainsFunc(omitted, func(f report.SkippedFault) bool { return f.Phase == p.Name && p.kindInjects(f.Fault) }) {
			continue
		}
		all := len(p.Faults)
		p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool {
			return slices.ContainsFunc(omitted, func(o report.SkippedFault) bool { return o.Phase == p.Name && o.Fault == f.Fault })
		})
		if all == 0 || len(p.Faults) > 0 {
			reduced.Phases = append(reduced.Phases, p)
		}
	}
	return &reduced
}

// validateClients checks that the smallest trial, of fewest clients, has each client that the fault names.
func (f Fault) validateClients(bad ProblemFunc, fewest int) {
	missing := func(field string, n int) {
		if n >= fewest {
			bad(field, "there is no client %d: the smallest trial has %d clients, numbered 0 to %d", n, fewest, fewest-1)
		}
	}
	if n, ok := f.targetClient(); ok {
		missing("target", n)
	}
	if e, err := ParseEvent(f.On); err == nil && e.Kind == WhenHolding {
		missing("on", e.N)
	}
}

func (f Fault) targetClient() (n int, ok bool) {
	client, memberOfClient := strings.CutPrefix(f.Target, chaos.MemberOf)
	if !memberOfClient && !f.affectsClients() {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(client, "client "))
	return n, err == nil
}

func (f Fault) affectsClients() bool {
	k, err := chaos.KindOf(f.Fault)
	return err == nil && slices.Contains(k.Targets, chaos.Holder)
}

// TargetMember returns the member that the target names; "" if it names none.
func (f Fault) TargetMember() string {
	k, err := chaos.KindOf(f.Fault)
	word := err != nil || slices.Contains(k.Targets, f.Target) || strings.HasPrefix(f.Target, chaos.MemberOf)
	if word || f.affectsClients() {
		return ""
	}
	return f.Target
}
