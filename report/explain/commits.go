package explain

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// commits holds commits until a client can know of them. A commit has a position in the servers'
// order but no time on the trial's clock, so that it is shown when the first client can know of it.
type commits struct {
	clients map[int64]int // by session
	waiting []*history.Commit
}

func (c *commits) add(r history.Record) bool {
	switch r := r.(type) {
	case *history.CommitsEnd:
		return true
	case *history.Commit:
		if r.Op == history.CommitCreate && r.Ephemeral || r.Op == history.CommitDelete || r.Op == history.CommitClose {
			c.waiting = append(c.waiting, r)
		}
		return true
	case *history.Session:
		if r.Event == history.Opened {
			c.clients[r.Session] = r.Client
		}
	}
	return false
}

// visible returns the commits that the record's client can know of, if they concern the given
// clients and are within the chart.
func (c *commits) visible(n history.Numbered, within Chart, clients []int) (out []Event) {
	sample, ok := n.Record.(*history.Sample)
	if !ok || len(c.waiting) == 0 {
		return nil
	}
	for _, x := range c.waiting {
		client, ok := c.clients[x.Session]
		if ok && slices.Contains(clients, client) && sample.Return >= within.From && sample.Return <= within.To {
			out = append(out, Event{At: sample.Return, Who: "servers", What: describeCommit(x, client), lane: Servers})
		}
	}
	c.waiting = c.waiting[:0]
	return out
}

func describeCommit(c *history.Commit, client int) string {
	switch c.Op {
	case history.CommitCreate:
		return fmt.Sprintf("had committed %#x: node %s was created by session %#x of client %d", uint64(c.Zxid), lastElement(c.Path), uint64(c.Session), client)
	case history.CommitDelete:
		return fmt.Sprintf("had committed %#x: node %s was deleted by client %d", uint64(c.Zxid), lastElement(c.Path), client)
	}
	s := fmt.Sprintf("had committed %#x: session %#x of client %d ended", uint64(c.Zxid), uint64(c.Session), client)
	if n := len(c.Removed); n > 0 {
		s += ", which deleted " + units.Plural(n, "node")
	}
	return s
}
