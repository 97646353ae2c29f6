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

// step is a place in the protocol of a subject: the nth time since the episode began that
// the client in a role sends a request, gets a notification, or is at a call of its own.
type step struct {
	role string
	op   string // a request as wire.Op names it, "notification", or one of the calls
	nth  int    // from 1
}

// The calls at which a client can be: it is about to acquire, put or take, or it holds; and
// it waits, while everybody stands in line and nobody lets go or puts.
const (
	callAcquire = "acquire"
	callHold    = "hold"
	callPut     = "put"
	callTake    = "take"
	callWait    = "wait"
)

var calls = []string{callAcquire, callHold, callPut, callTake, callWait}

// The roles of an episode's clients, by client number.
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

// String is the step in words: "next exists #1".
func (s step) String() string { return fmt.Sprintf("%s %s #%d", s.role, s.op, s.nth) }

var stepForm = regexp.MustCompile(`^(\w+) (\w+) #([1-9]\d{0,5})$`)

// parseStep reads a step.
func parseStep(text string) (step, error) {
	m := stepForm.FindStringSubmatch(text)
	if m == nil {
		return step{}, fmt.Errorf("%q is no step; one is written like %q", text, step{"next", "exists", 1})
	}
	s := step{role: m[1], op: m[2]}
	s.nth, _ = strconv.Atoi(m[3]) // the form has only digits
	if s.client() < 0 {
		return s, fmt.Errorf("%q: there is no role %q%s", text, s.role, units.Nearest(s.role, slices.Concat(grantRoles, queueRoles, backlogRoles[1:])))
	}
	if names := stepOps(); !slices.Contains(names, s.op) {
		return s, fmt.Errorf("%q: there is no operation %q%s", text, s.op, units.Nearest(s.op, names))
	}
	return s, nil
}

// suits says whether the subject has the step's role.
func (s step) suits(subject recipes.Subject) bool { return slices.Contains(rolesOf(subject), s.role) }

// stepOps are the names of all operations that a step can have.
func stepOps() []string {
	names := slices.Clone(calls)
	for _, op := range append(wire.Ops(), wire.Notified) {
		if !slices.Contains(unsteady, op) {
			names = append(names, op.String())
		}
	}
	return names
}

// unsteady are no requests, or such that no recipe makes: the client library sends them by
// itself, or in the end.
var unsteady = []wire.Op{wire.Any, wire.AnyChange, wire.AnyRead, wire.Ping, wire.CloseSession, wire.Auth, wire.SASL, wire.SetWatches, wire.SetWatches2}

// client is the number of the client in the step's role.
func (s step) client() int {
	if s.role == "" {
		return -1
	}
	return max(slices.Index(grantRoles, s.role), slices.Index(queueRoles, s.role), slices.Index(backlogRoles, s.role))
}

// kind says what there is at the step: a request, a notification or a call.
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

// onWire says that the tap sees the step.
func (s step) onWire() bool { return s.kind()&(atRequest|atNotification) != 0 }

// rule aims an act at the step, which is on the wire.
func (s step) rule(act wire.Act) wire.Rule {
	r := wire.Rule{Op: wire.Notified, Nth: s.nth, Act: act}
	for _, op := range wire.Ops() {
		if op.String() == s.op {
			r.Op = op
		}
	}
	return r
}

// stepKind is what there is at a step.
type stepKind int

const (
	atRequest stepKind = 1 << iota
	atNotification
	atCall
	atWait
)

// seenStep is a step that was seen.
type seenStep struct {
	step
	at    time.Duration
	under string // the call under way: acquire, hold (and release), put or take; "" before the first
}

// mostOf is how many of one client's steps with the same operation count: who polls has no
// end of them, and a queue's clients do the same for every item.
const mostOf = 2

// stepsOf returns the steps of a role in their order: the requests and notifications of a
// transcript, and the calls, which have no number yet.
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
		if s.kind() == atCall { // who waits is in the call that it made
			under = s.op
		}
		if s.role, s.nth, s.under = role, counts[s.op], under; s.nth <= mostOf {
			out = append(out, s)
		}
	}
	return out
}

// inBoth returns the steps of a that b has as well.
func inBoth(a, b []seenStep) []seenStep {
	return slices.DeleteFunc(slices.Clone(a), func(s seenStep) bool {
		return !slices.ContainsFunc(b, func(o seenStep) bool { return o.step == s.step })
	})
}

// fileName is a name for files and nodes: "next-exists-1".
func fileName(text string) string {
	return unnamable.ReplaceAllString(strings.NewReplacer(" #", "-", " ", "-", "/", "-", "+", "and").Replace(text), "_")
}
