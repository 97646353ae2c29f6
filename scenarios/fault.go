package scenarios

import (
	"errors"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/units"
)

// Fault is an entry of a phase's fault schedule. It is injected once, or repeatedly:
//
//	{at: 2s, fault: session.close, target: holder}
//	{at: 1s, every: 2s, jitter: 1s, fault: session.flap, target: random}
//	{on: client 3 holds, at: 50ms, fault: session.expire, target: "3"}
//	{on: 50% wait, fault: partition.isolate, target: leader, for: 3s}
//
// Entries are independent of each other; faults overlap if their times do.
type Fault struct {
	At    time.Duration `yaml:"at"`              // after the start of the phase, or after the event
	On    string        `yaml:"on,omitempty"`    // the event that At counts from (see parseEvent)
	Every time.Duration `yaml:"every,omitempty"` // time from one start to the next, which waits until the fault is healed
	Times int           `yaml:"times,omitempty"` // the maximum number of repetitions; 0: until the phase ends
	// Jitter moves At and each Every by up to that much either way, decided by the seed.
	Jitter time.Duration     `yaml:"jitter,omitempty"`
	Fault  string            `yaml:"fault"`            // a name from zkbench list faults
	Target string            `yaml:"target,omitempty"` // the target: holder, leader, a client's number, a member's name; "" is the fault's default
	For    time.Duration     `yaml:"for,omitempty"`    // until it is healed; 0: to the end of the phase
	Params map[string]string `yaml:"params,omitempty"` // parameters of the fault (zkbench list faults)
	// Essential means that the scenario's question cannot be answered without the fault. A built-in
	// scenario leaves out, and reports, a fault that is not essential and not available on this
	// machine. A fault that the user requests (a file, --set, --replay) is always essential.
	Essential bool `yaml:"essential,omitempty"`

	builtin bool // part of a built-in scenario, not requested by the user
}

// validate checks a fault of a phase of that duration.
func (f Fault) validate(bad problemFunc, phase time.Duration) {
	f.validateKind(bad)
	if f.At < 0 || f.At > phase {
		bad("at", "%v is not within the phase (0 to %v)", f.At, phase)
	} else if f.For < 0 || f.At+f.For > phase {
		bad("for", "%v after %v is not within the phase (0 to %v): the fault must be healed before it ends", f.For, f.At, phase)
	}
	if _, err := parseEvent(f.On); err != nil {
		bad("on", "%v", err)
	}
	if f.Every < 0 || f.Every > 0 && f.Every < minEvery {
		bad("every", "%v is less than %v", f.Every, minEvery)
	}
	between(bad, "times", f.Times, 0, maxRounds)
	if f.Times > 0 && f.Every == 0 {
		bad("times", "requires every")
	}
	longest := f.At
	if f.Every > 0 {
		longest = f.Every
	}
	if longest = max(longest, 0); f.Jitter < 0 || f.Jitter > longest {
		bad("jitter", "%v is not between 0 and %v, which it varies", f.Jitter, longest)
	}
	if f.At+f.Jitter+f.For > phase && f.Jitter > 0 {
		bad("jitter", "%v after %v is not within the phase (0 to %v)", f.Jitter, f.At, phase)
	}
}

// validateKind checks the fault's name, target and parameters.
func (f Fault) validateKind(bad problemFunc) {
	if _, err := chaos.Parse(f.Fault, "", nil); err != nil {
		bad("fault", "%v", suggest(err))
	} else if _, err := chaos.Parse(f.Fault, f.Target, nil); err != nil {
		bad("target", "%v", suggest(err))
	} else if _, err := chaos.Parse(f.Fault, f.Target, f.Params); err != nil {
		bad("params", "%v", suggest(err))
	}
}

// suggest replaces the list of names in an error about an unknown name by the nearest name.
func suggest(err error) string {
	var unknown *chaos.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Known) == 0 {
		return err.Error()
	}
	return strings.Replace(err.Error(), unknown.Error(), unknown.Problem+units.Nearest(unknown.Name, unknown.Known), 1)
}

func faultNames() []string {
	return namesOf(chaos.Catalogue(), func(k chaos.Kind) string { return k.Name })
}

// minEvery bounds how many repetitions a plan can have.
const minEvery = 10 * time.Millisecond
