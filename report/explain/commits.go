package explain

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// commits keeps what the servers committed until somebody may know of it. A commit has a
// place in the servers' order and none on the trial's clock: it is shown when the first
// client may know of it.
type commits struct {
	clients map[int64]int // by session: whose it is
	waiting []*history.Commit
}

// add takes a commit; false for what is none.
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

// known returns the commits that the record's client may know of, as far as they are of
// these clients and within the chart.
func (c *commits) known(n history.Numbered, within Chart, clients []int) (out []Event) {
	sample, ok := n.Record.(*history.Sample)
	if !ok || len(c.waiting) == 0 {
		return nil
	}
	for _, x := range c.waiting {
		client, ours := c.clients[x.Session]
		if ours && slices.Contains(clients, client) && sample.Return >= within.From && sample.Return <= within.To {
			out = append(out, Event{At: sample.Return, Who: "servers", What: committed(x, client), lane: Servers})
		}
	}
	c.waiting = c.waiting[:0]
	return out
}

// committed puts a commit into words.
func committed(c *history.Commit, client int) string {
	switch c.Op {
	case history.CommitCreate:
		return fmt.Sprintf("had committed %#x: node %s is made by session %#x of client %d", uint64(c.Zxid), last(c.Path), uint64(c.Session), client)
	case history.CommitDelete:
		return fmt.Sprintf("had committed %#x: node %s is deleted by client %d", uint64(c.Zxid), last(c.Path), client)
	}
	s := fmt.Sprintf("had committed %#x: session %#x of client %d ends", uint64(c.Zxid), uint64(c.Session), client)
	if n := len(c.Removed); n > 0 {
		s += ", and " + units.Plural(n, "node") + " with it"
	}
	return s
}
