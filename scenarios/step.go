package scenarios

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// step is a place in the protocol of a subject: the nth time in the episode that the client in a
// role sends a request, receives a notification, or makes a call.
type step struct {
	role string
	op   string // a request as wire.Op names it, "notification", or a call
	nth  int    // from 1
}

const (
	callAcquire = "acquire"
	callHold    = "hold"
	callPut     = "put"
	callTake    = "take"
	callWait    = "wait"
)

var calls = []string{callAcquire, callHold, callPut, callTake, callWait}

var (
	grantRoles = []string{"holder", "next", "third"}
	queueRoles = []string{"producer", "first", "second"}
	// backlogRoles are the consumers of a queue that has items before they take.
	backlogRoles = []string{"", "backlog_first", "backlog_second"}
)

func rolesOf(s recipes.Subject) []string {
	if s.Recipe == recipes.RecipeQueue {
		return slices.Concat(queueRoles, backlogRoles[1:])
	}
	return grantRoles
}

func (s step) String() string { return fmt.Sprintf("%s %s #%d", s.role, s.op, s.nth) }

var stepForm = regexp.MustCompile(`^(\w+) (\w+) #([1-9]\d{0,5})$`)

// parseStep parses a step such as "next exists #1".
func parseStep(text string) (step, error) {
	m := stepForm.FindStringSubmatch(text)
	if m == nil {
		return step{}, fmt.Errorf("%q is no step; one is written like %q", text, step{"next", "exists", 1})
	}
	s := step{role: m[1], op: m[2]}
	s.nth, _ = strconv.Atoi(m[3]) // the pattern allows only digits
	if s.client() < 0 {
		return s, fmt.Errorf("%q: there is no role %q%s", text, s.role, units.Nearest(s.role, slices.Concat(grantRoles, queueRoles, backlogRoles[1:])))
	}
	if names := stepOps(); !slices.Contains(names, s.op) {
		return s, fmt.Errorf("%q: there is no operation %q%s", text, s.op, units.Nearest(s.op, names))
	}
	return s, nil
}

// suits reports whether the subject has the step's role.
func (s step) suits(subject recipes.Subject) bool { return slices.Contains(rolesOf(subject), s.role) }

// stepOps returns the names of all operations of steps.
func stepOps() []string {
	names := slices.Clone(calls)
	for _, op := range append(wire.Ops(), wire.Notified) {
		if !slices.Contains(unsteady, op) {
			names = append(names, op.String())
		}
	}
	return names
}

// unsteady are operations that recipes do not send: classes of operations, and those that the
// client library sends by itself.
var unsteady = []wire.Op{wire.Any, wire.AnyChange, wire.AnyRead, wire.Ping, wire.CloseSession, wire.Auth, wire.SASL, wire.SetWatches, wire.SetWatches2}

// client returns the number of the client in the step's role.
func (s step) client() int {
	if s.role == "" {
		return -1
	}
	return max(slices.Index(grantRoles, s.role), slices.Index(queueRoles, s.role), slices.Index(backlogRoles, s.role))
}

func (s step) kind() stepKind {
	switch {
	case s.op == callWait:
		return atWait
	case slices.Contains(calls, s.op):
		return atCall
	case s.op == wire.Notified.String():
		return atNotification
	}
	return atRequest
}

func (s step) onWire() bool { return s.kind()&(atRequest|atNotification) != 0 }

// rule returns a rule that applies act at the step, which is on the wire.
func (s step) rule(act wire.Act) wire.Rule {
	r := wire.Rule{Op: wire.Notified, Nth: s.nth, Act: act}
	for _, op := range wire.Ops() {
		if op.String() == s.op {
			r.Op = op
		}
	}
	return r
}

type stepKind int

const (
	atRequest stepKind = 1 << iota
	atNotification
	atCall
	atWait
)

// seenStep is a step that occurred.
type seenStep struct {
	step
	at    time.Duration
	under string // the call in progress: acquire, hold (and release), put or take; "" before the first
}

// mostOf is the number of one client's steps with the same operation that are tested: polling repeats a
// step without end, and a queue's clients repeat it for every item.
const mostOf = 2

// stepsOf returns the steps of a role in order: the requests and notifications of a transcript, and
// the calls, which have no number yet.
func stepsOf(role string, frames []wire.Frame, made []seenStep) []seenStep {
	all := slices.Clone(made)
	for _, f := range frames {
		if f.Kind != wire.ReplyFrame && !slices.Contains(unsteady, f.Op) {
			all = append(all, seenStep{step: step{op: f.Op.String()}, at: f.At})
		}
	}
	slices.SortStableFunc(all, func(a, b seenStep) int { return cmp.Compare(a.at, b.at) })
	counts, under := map[string]int{}, ""
	var out []seenStep
	for _, s := range all {
		counts[s.op]++
		if s.kind() == atCall { // a waiter is in the call that it made
			under = s.op
		}
		if s.role, s.nth, s.under = role, counts[s.op], under; s.nth <= mostOf {
			out = append(out, s)
		}
	}
	return out
}

// inBoth returns the steps of a that are also in b.
func inBoth(a, b []seenStep) []seenStep {
	return slices.DeleteFunc(slices.Clone(a), func(s seenStep) bool {
		return !slices.ContainsFunc(b, func(o seenStep) bool { return o.step == s.step })
	})
}

// fileName converts a text to a name for files and nodes: "next-exists-1".
func fileName(text string) string {
	return invalidNameChars.ReplaceAllString(strings.NewReplacer(" #", "-", " ", "-", "/", "-", "+", "and").Replace(text), "_")
}
