package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestZoo_refusesWhatCannotBePlayed(t *testing.T) {
	const phase = "{name: p, kind: episode, hold: 0s}"
	for _, c := range []struct{ name, phases, specimen, want string }{
		{"what can be played", phase, "{subject: lock/parent, provocation: 'next create #1/reply.drop'}", ""},
		{"an unknown fault", phase, "{subject: lock/parent, provocation: 'next create #1/reply.dropp'}", `did you mean "reply.drop"`},
		{"an unknown cell of the whole line", phase, "{subject: lock/parent, provocation: all/crowds}", `did you mean "crowd"`},
		{"no cell", phase, "{subject: lock/parent, provocation: crowd}", `"crowd" is not a step`},
		{"a role of queues", phase, "{subject: lock/parent, provocation: 'first delete #1/reply.drop'}", "has no role first; its roles are holder, next, third"},
		{"a backlog of a lock", phase, "{subject: lock/parent, provocation: all/backlog}", "does not apply to lock/parent"},
		{"who cannot be called off", phase, "{subject: lock/go-zookeeper, provocation: 'next create #1/cancel'}", "cannot be cancelled"},
		{"a member that others use", phase, "{subject: lock/parent, provocation: 'next create #1/member.kill'}", "affects a member that other trials use at the same time: run it with audit"},
		{"another kind of phase", "{name: p, kind: drain, rounds: 1, hold: 0s}", "{subject: lock/parent, provocation: every}", "a zoo has one phase, of kind episode"},
		{"an episode beside another phase", phase + "\n  - {name: q, kind: episode, hold: 0s}", "{subject: lock/parent, provocation: every}", "must be the only phase of a scenario"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := spec.Load("x", []byte("name: x\nsession_timeout: 4s\nphases:\n  - "+c.phases+"\nspecimens:\n  - "+c.specimen+"\n"))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
