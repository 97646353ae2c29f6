package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Step is a place in the protocol of a subject: the nth time in the episode that the client in a
// role sends a request, receives a notification, or makes a call.
type Step struct {
	Role string
	Op   string // a request (the name of a wire.Op), "notification", or a call
	Nth  int    // from 1
}

// Values of Step.Op that are not messages: calls of the client.
const (
	CallAcquire = "acquire"
	CallHold    = "hold"
	CallPut     = "put"
	CallTake    = "take"
	CallWait    = "wait"
)

var calls = []string{CallAcquire, CallHold, CallPut, CallTake, CallWait}

var (
	grantRoles = []string{"holder", "next", "third"}
	partyRoles = []string{"arriving_first", "arriving_second", "arriving_last"} // at a barrier
	queueRoles = []string{"producer", "first", "second"}
	// BacklogRoles are the roles of consumers that take from a queue which already has items.
	BacklogRoles = []string{"", "backlog_first", "backlog_second"}
)

// RolesOf returns the roles of the clients in an episode of the subject. The index of a role is the
// number of its client, except for BacklogRoles.
func RolesOf(s recipes.Subject) []string {
	switch s.Recipe {
	case recipes.RecipeQueue:
		return slices.Concat(queueRoles, BacklogRoles[1:])
	case recipes.RecipeBarrier:
		return partyRoles
	}
	return grantRoles
}

func (s Step) String() string { return fmt.Sprintf("%s %s #%d", s.Role, s.Op, s.Nth) }

var stepForm = regexp.MustCompile(`^(\w+) (\w+) #([1-9]\d{0,5})$`)

func parseStep(text string) (Step, error) {
	m := stepForm.FindStringSubmatch(text)
	if m == nil {
		return Step{}, fmt.Errorf("%q is not a step; steps look like %q", text, Step{"next", "exists", 1})
	}
	s := Step{Role: m[1], Op: m[2]}
	s.Nth, _ = strconv.Atoi(m[3]) // the pattern allows only digits
	if s.Client() < 0 {
		return s, fmt.Errorf("%q: there is no role %q%s", text, s.Role, units.Nearest(s.Role, slices.Concat(grantRoles, partyRoles, queueRoles, BacklogRoles[1:])))
	}
	if names := stepOps(); !slices.Contains(names, s.Op) {
		return s, fmt.Errorf("%q: there is no operation %q%s", text, s.Op, units.Nearest(s.Op, names))
	}
	return s, nil
}

func stepOps() []string {
	names := slices.Clone(calls)
	for _, op := range append(wire.Ops(), wire.Notified) {
		if !slices.Contains(ExcludedOps, op) {
			names = append(names, op.String())
		}
	}
	return names
}

// ExcludedOps cannot be steps: classes of operations, and operations that client libraries send themselves.
var ExcludedOps = []wire.Op{wire.Any, wire.AnyChange, wire.AnyRead, wire.Ping, wire.CloseSession, wire.Auth, wire.SASL, wire.SetWatches, wire.SetWatches2}

// Client returns the number of the client in the role; -1 if there is no such role.
func (s Step) Client() int {
	if s.Role == "" {
		return -1
	}
	return max(slices.Index(grantRoles, s.Role), slices.Index(partyRoles, s.Role), slices.Index(queueRoles, s.Role), slices.Index(BacklogRoles, s.Role))
}

func (s Step) Kind() StepKind {
	switch {
	case s.Op == CallWait:
		return AtWait
	case slices.Contains(calls, s.Op):
		return AtCall
	case s.Op == wire.Notified.String():
		return AtNotification
	}
	return AtRequest
}

// Rule returns the rule with which the tap acts at the step, which must be a request or a notification.
func (s Step) Rule(act wire.Act) wire.Rule {
	r := wire.Rule{Op: wire.Notified, Nth: s.Nth, Act: act}
	for _, op := range wire.Ops() {
		if op.String() == s.Op {
			r.Op = op
		}
	}
	return r
}

// StepKind is a set of kinds of step.
type StepKind int

const (
	AtRequest StepKind = 1 << iota
	AtNotification
	AtCall
	AtWait
)

type SeenStep struct {
	Step
	At   time.Duration
	Call string // the call in progress: acquire, hold (and release), put or take; "" before the first
}

func fileName(text string) string {
	return invalidNameChars.ReplaceAllString(strings.NewReplacer(" #", "-", " ", "-", "/", "-", "+", "and").Replace(text), "_")
}

// FaultFreeEpisodes is the number of fault-free episodes. A step must occur in all of them: others occur by chance.
const FaultFreeEpisodes = 3

// StepWatch collects the steps that all calm episodes of a subject have.
type StepWatch struct {
	mu       sync.Mutex
	episodes int
	Subject  recipes.Subject // as started: some properties of a driver are known only then
	Steps    []SeenStep
	Also     []string // additional faults that a full audit omits by default
}

// Add adds the steps of one calm episode. It reports whether it was the last episode.
func (w *StepWatch) Add(seen []SeenStep, started recipes.Subject) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Subject = started
	if w.episodes++; w.episodes > 1 {
		seen = slices.DeleteFunc(slices.Clone(w.Steps), func(s SeenStep) bool {
			return !slices.ContainsFunc(seen, func(o SeenStep) bool { return o.Step == s.Step })
		})
	}
	w.Steps = seen
	return w.episodes == FaultFreeEpisodes
}

// Records returns the observed steps, each with the faults that apply to it and the subject.
func (w *StepWatch) Records(subject recipes.Subject) []*history.Step {
	out := []*history.Step{{Step: AllSteps, Faults: append([]string{FaultFreeCell}, applicableScripts(subject)...)}}
	for _, s := range w.Steps {
		r := &history.Step{Step: s.String()}
		for _, f := range StepFaults {
			if (!f.OptIn || slices.Contains(w.Also, f.Name)) && f.appliesTo(s, subject) {
				r.Faults = append(r.Faults, f.Name)
			}
		}
		out = append(out, r)
	}
	if subject.Recipe == recipes.RecipeQueue {
		out = append(out, w.atBacklog()...)
	}
	return slices.DeleteFunc(out, func(r *history.Step) bool { return len(r.Faults) == 0 })
}

// backlogFaults are the faults for the requests of two consumers while items are waiting.
var backlogFaults = []string{"reply.drop", "reply.close", "request.hold"}

// atBacklog returns the consumers' requests again, as steps that occur while items wait for both.
func (w *StepWatch) atBacklog() (out []*history.Step) {
	for _, s := range w.Steps {
		if i := slices.Index(queueRoles, s.Role); i > 0 && s.Kind() == AtRequest && s.Call == CallTake {
			s.Role = BacklogRoles[i]
			out = append(out, &history.Step{Step: s.String(), Faults: backlogFaults})
		}
	}
	return out
}
