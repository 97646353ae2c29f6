package scenarios

import (
	"fmt"

	"github.com/zkbench/zkbench/recipes"
)

// queue reports whether the subject is a queue.
func (t *trial) queue() bool { return t.cell.Subject.Recipe == recipes.RecipeQueue }

// suits checks that a client which the subject has opened is what its recipe says.
func (t *trial) suits(c recipes.Client) error {
	s := t.cell.Subject
	_, contends := c.(recipes.Contender)
	_, takes := c.(recipes.QueueClient)
	switch {
	case t.queue() && !takes:
		return fmt.Errorf("%s: its client (%T) is no recipes.QueueClient, with Put and Take, as a queue needs", s.Name, c)
	case !t.queue() && !contends:
		return fmt.Errorf("%s: its client (%T) is no recipes.Contender, with Acquire and Release, as a %s needs", s.Name, c, s.Recipe)
	}
	return nil
}

// suited says why a phase cannot be played with the subject.
func (t *trial) suited(p Phase) error {
	switch queue := t.queue(); {
	case p.Kind == Stream && !queue:
		return fmt.Errorf("%s takes no items; a stream needs a queue", t.cell.Subject.Name)
	case (p.Kind == Succession || p.Kind == Failover) && queue:
		return fmt.Errorf("%s grants nothing; a %s needs a lock or an election", t.cell.Subject.Name, p.Kind)
	}
	return nil
}
