package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/verdict"
)

// Every broken recipe stands in the zoo, with the cell that shows its mistake and the
// guarantees that catch it.
func TestZoo_everySpecimenNamesWhatCatchesIt(t *testing.T) {
	caught := map[string][]string{}
	for _, x := range shipped(t, "zoo").Specimens {
		if x.Provocation != every {
			caught[x.Subject] = append(caught[x.Subject], x.Caught...)
		}
	}
	n := 0
	for _, s := range recipes.Subjects() {
		if !strings.HasPrefix(s.Name, "zoo/") {
			continue
		}
		if n++; len(caught[s.Name]) == 0 {
			t.Errorf("%s: nothing is to catch it", s.Name)
		}
		for _, name := range caught[s.Name] {
			if !slices.ContainsFunc(verdict.All(), func(g verdict.Guarantee) bool { return g.Name == name }) {
				t.Errorf("%s is to be caught by %s, which is no guarantee", s.Name, name)
			}
		}
	}
	if n < 25 {
		t.Errorf("%d specimens: where are the others?", n)
	}
}

// Sound subjects meet whatever shows a mistake of one of their kind.
func TestZoo_everyIsWhatFits(t *testing.T) {
	s := shipped(t, "zoo")
	s.Specimens = []Specimen{
		{Subject: "zoo/create-reply-lost", Provocation: "next create #1/reply.drop", Caught: []string{"no-orphan"}},
		{Subject: "zoo/predecessor-minus-one", Provocation: "next wait #1/cancel", Caught: []string{"busy-loop"}},
		{Subject: "zoo/queue-take-reply-lost", Provocation: "first delete #1/reply.drop", Caught: []string{"no-loss"}},
		{Subject: "lock/go-zookeeper", Provocation: "all/wrapped-numbers", Caught: []string{"no-orphan"}},
		{Subject: "lock/go-zookeeper", Provocation: every},
		{Subject: "lock/resource", Provocation: "next exists #1/request.hold"}, // shows no mistake
		{Subject: "lock/parent", Provocation: every, Except: []string{"all/line"}},
		{Subject: "queue/parent", Provocation: every},
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	cells, err := s.cells()
	if err != nil {
		t.Fatal(err)
	}
	played := map[string][]string{}
	for _, c := range cells {
		if len(c.Caught) == 0 {
			played[c.Subject.Name] = append(played[c.Subject.Name], c.Provocation)
		}
	}
	for subject, want := range map[string][]string{
		"lock/go-zookeeper": {"all/crowd", "all/line", "next create #1/reply.drop"}, // it cannot be called off
		"lock/parent":       {"all/crowd", "all/wrapped-numbers", "all/newcomers", "next create #1/reply.drop", "next wait #1/cancel"},
		"queue/parent":      {"all/backlog", "first delete #1/reply.drop"},
	} {
		if !slices.Equal(played[subject], want) {
			t.Errorf("%s: %q\nwant %q", subject, played[subject], want)
		}
	}
}

func TestZoo_refusesWhatCannotBePlayed(t *testing.T) {
	const phase = "{name: p, kind: episode, hold: 0s}"
	for _, c := range []struct{ name, phases, specimen, want string }{
		{"what can be played", phase, "{subject: lock/parent, provocation: 'next create #1/reply.drop'}", ""},
		{"an unknown fault", phase, "{subject: lock/parent, provocation: 'next create #1/reply.dropp'}", `did you mean "reply.drop"`},
		{"an unknown cell of the whole line", phase, "{subject: lock/parent, provocation: all/crowds}", `did you mean "crowd"`},
		{"no cell", phase, "{subject: lock/parent, provocation: crowd}", `"crowd" is no step`},
		{"a role of queues", phase, "{subject: lock/parent, provocation: 'first delete #1/reply.drop'}", "it has no first, but holder, next, third"},
		{"a backlog of a lock", phase, "{subject: lock/parent, provocation: all/backlog}", "does not go with lock/parent"},
		{"who cannot be called off", phase, "{subject: lock/go-zookeeper, provocation: 'next create #1/cancel'}", "cannot be called off"},
		{"a member that others use", phase, "{subject: lock/parent, provocation: 'next create #1/member.kill'}", "affects a member, which other trials use at the same time: audit runs it"},
		{"except without every", phase, "{subject: lock/parent, provocation: all/crowd, except: [all/line]}", "goes with provocation: every"},
		{"except what is not there", phase, "{subject: lock/parent, provocation: every, except: [all/backlog]}", "could be omitted"},
		{"the same twice", phase, "{subject: lock/parent, provocation: all/crowd}\n  - {subject: lock/parent, provocation: all/crowd}", "lock/parent meets all/crowd twice"},
		{"another kind of phase", "{name: p, kind: drain, rounds: 1, hold: 0s}", "{subject: lock/parent, provocation: every}", "a zoo has one phase, an episode"},
		{"an episode beside another phase", phase + "\n  - {name: q, kind: episode, hold: 0s}", "{subject: lock/parent, provocation: every}", "a trial of its own"},
		{"cells beside specimens", "{name: p, kind: episode, cells: [all/calm], hold: 0s}", "{subject: lock/parent, provocation: every}", "a zoo runs its specimens: remove cells, depth and duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("x", []byte("name: x\nsession_timeout: 4s\nphases:\n  - "+c.phases+"\nspecimens:\n  - "+c.specimen+"\n"))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
