package scenarios

import (
	"fmt"

	"github.com/zkbench/zkbench/recipes"
)

// queue tells whether the subject is a queue: by what its clients can do, which a name
// like "zoo/queue-lifo" does not tell; before there are any, by its name.
func (t *trial) queue() bool {
	if is := t.takes.Load(); is != nil {
		return *is
	}
	return t.cell.Subject.Recipe() == "queue"
}

// suits checks a client that the subject has opened, and learns from it what it is.
func (t *trial) suits(c recipes.Client) error {
	_, contends := c.(recipes.Contender)
	_, takes := c.(recipes.QueueClient)
	switch {
	case !contends && !takes:
		return fmt.Errorf("%s: its client (%T) is neither a recipes.Contender, with Acquire and Release, nor a recipes.QueueClient, with Put and Take", t.cell.Subject.Name, c)
	case contends && takes:
		takes = t.cell.Subject.Recipe() == "queue"
	}
	t.takes.Store(&takes)
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
