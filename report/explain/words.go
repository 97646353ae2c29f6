package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// eventOf returns the event of a record; ok is false for records that are never part of an explanation.
func eventOf(n history.Numbered, recipe string) (e Event, ok bool) {
	e.Record, e.At, e.Who, e.lane = n.N, n.Time(), "observer", noLane
	switch r := n.Record.(type) {
	case *history.Sample:
		if e.What = describeSample(r); recipe == facts.Barrier {
			e.What = describePassage(r)
		}
		if r.Op == history.Release {
			e.At = r.Call
		}
	case *history.Window:
		e.At, e.Who, e.What, e.lane = r.Start, "fault", describeWindow(r), Faults
	case *history.Session:
		e.What = describeSession(r)
	default:
		e.What = describeObservation(n.Record)
	}
	if _, _, client := span(n); client >= 0 && e.Who != "fault" {
		e.Who, e.lane = fmt.Sprintf("client %d", client), client
	}
	return e, e.What != ""
}

func failureOf(s *history.Sample) string {
	hows := map[history.Outcome]string{history.Failed: "without success", history.Unknown: "with an unknown outcome"}
	how := hows[s.Outcome]
	if s.Err != "" {
		how += ": " + s.Err
	}
	return how
}

func describeSample(s *history.Sample) string {
	token, ok := units.Zxid(s.Token), s.Outcome == history.OK
	var call, result string // result: of a call that succeeded
	switch called := units.Moment(s.Call); {
	case s.Op == history.Acquire && ok && s.Token == 0 && s.Path == "":
		return fmt.Sprintf("receives a grant without a token or a node, and the network traffic shows no node of session %#x; acquire was called at %s", uint64(s.Session), called)
	case s.Op == history.Acquire && ok:
		return fmt.Sprintf("is granted token %s by node %s of session %#x; acquire was called at %s", token, lastElement(s.Path), uint64(s.Session), called)
	case s.Op == history.Acquire:
		call = "called acquire at " + called
	case s.Op == history.Release:
		call = "releases token " + token
	case s.Op == history.Write:
		call = "writes to the protected resource with token " + token
		result = fmt.Sprintf("; the new version is %d", s.Version)
	case s.Op == history.Effect:
		call, result = "writes to an unfenced node with token "+token, ": accepted"
	case ok:
		return fmt.Sprintf("%ss item %q", s.Op, s.Item)
	default:
		return strings.TrimSpace(fmt.Sprintf("%ss %q, %s", s.Op, s.Item, failureOf(s)))
	}
	if ok {
		return call + result
	}
	return call + ", " + failureOf(s)
}

// describePassage describes an operation at a barrier, where acquire is enter and release is leave.
func describePassage(s *history.Sample) string {
	call := map[string]string{history.Acquire: "enter", history.Release: "leave"}[s.Op]
	switch {
	case call == "":
		return describeSample(s)
	case s.Outcome == history.OK && s.Op == history.Acquire:
		return fmt.Sprintf("passes the barrier; enter was called at %s", units.Moment(s.Call))
	case s.Outcome == history.OK:
		return fmt.Sprintf("calls leave, which returned at %s", units.Moment(s.Return))
	}
	return fmt.Sprintf("called %s at %s, %s", call, units.Moment(s.Call), failureOf(s))
}

func describeWindow(w *history.Window) string {
	s := fmt.Sprintf("%s for %s", history.DescribeFault(w.Fault, w.Target), max(w.End-w.Start, 0).Round(time.Millisecond))
	if w.Proof != "" {
		return s + ": " + w.Proof
	}
	return s + "; its effect is not proven: " + w.Err
}

func describeSession(r *history.Session) string {
	switch r.Event {
	case history.Opened:
		return fmt.Sprintf("opened session %#x, as seen on the wire, with a timeout of %v", uint64(r.Session), r.Timeout)
	case history.Closed:
		return fmt.Sprintf("closes session %#x", uint64(r.Session))
	case history.Suspended:
		return fmt.Sprintf("is notified that the connection was lost: token %s is suspended", units.Zxid(r.Token))
	case history.Restored:
		if r.Token == 0 { // only the wire shows which session the client has
			return "reports that it reconnected with the same session; it does not hold a grant"
		}
		return fmt.Sprintf("reports that it reconnected with the same session, and that token %s is restored", units.Zxid(r.Token))
	case history.Lost:
		return fmt.Sprintf("is notified that token %s is lost", units.Zxid(r.Token))
	case history.Expired:
		return fmt.Sprintf("is notified by the servers that session %#x expired", uint64(r.Session))
	case history.Ended:
		return fmt.Sprintf("is notified that its grant with token %s ended, although its session is alive", units.Zxid(r.Token))
	case history.Deadline:
		return fmt.Sprintf("had no reply for the whole timeout of session %#x: from now on it cannot know whether it holds", uint64(r.Session))
	case history.Killed:
		return "is killed by zkbench"
	}
	return string(r.Event)
}

func describeObservation(r history.Record) string {
	switch r := r.(type) {
	case *history.ClaimCheck:
		if r.Token == 0 {
			return fmt.Sprintf("claims the grant with node %s; the observer did not find that node", lastElement(r.Path))
		}
		return fmt.Sprintf("claims the grant with node %s; the observer found that the node's session is %#x, its czxid is %s, and %d older nodes are ahead of it", lastElement(r.Path), uint64(r.Session), units.Zxid(r.Token), r.Ahead)
	case *history.Snapshot:
		return describeSnapshot(r)
	case *history.Effort:
		return fmt.Sprintf("made %d requests for %d calls; the only other causes were %d notifications and %d connections", r.Requests, r.Calls, r.Notifications, r.Connections)
	case *history.Paused:
		notification := "it was notified by " + r.By + " at " + units.Moment(r.Notified)
		if r.By == "" {
			notification = "it was never notified that it no longer holds the grant"
		}
		return fmt.Sprintf("held the grant while its process was paused from %s to %s; client %d received its grant at %s; %s", units.Moment(r.Stopped), units.Moment(r.Resumed), r.Next, units.Moment(r.Granted), notification)
	case *history.Holds:
		if r.Holds {
			return "answers a query: it holds the grant"
		}
		return "answers a query: it does not hold the grant"
	case *history.Emptied:
		return "found the queue empty"
	case *history.Joined:
		return "joined"
	case *history.Leaving:
		return strings.TrimSpace("leaving " + r.How)
	case *history.Traffic:
		expected := "there is no formula"
		if r.ExpectedNotifications != nil {
			expected = fmt.Sprintf("the formula predicts %d", *r.ExpectedNotifications)
		}
		return fmt.Sprintf("counted %d notifications in %d %ss; %s", r.Notifications, r.Count, r.Of, expected)
	}
	return ""
}

func describeSnapshot(s *history.Snapshot) string {
	var parts []string
	for i, n := range s.Nodes {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more", len(s.Nodes)-i))
			break
		}
		whose := "a session that does not belong to any client"
		if n.Client >= 0 {
			whose = fmt.Sprintf("client %d, whose session %#x is alive", n.Client, uint64(n.Session))
		}
		parts = append(parts, fmt.Sprintf("node %s (czxid %s) of %s", lastElement(n.Path), units.Zxid(n.Token), whose))
	}
	if len(s.Items) > 0 {
		parts = append(parts, fmt.Sprintf("%d items, the first %s", len(s.Items), lastElement(s.Items[0].Path)))
	}
	for _, w := range s.Waiters {
		watches := ""
		if w.Watches != nil {
			watches = fmt.Sprintf(", %d watches that a change in the line can trigger, %d others", *w.Watches, w.Others)
		}
		if w.Behind {
			watches += "; its member lagged behind"
		}
		parts = append(parts, fmt.Sprintf("client %d waited (%d requests and notifications%s)", w.Client, w.Moved, watches))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing")
	}
	return fmt.Sprintf("saw continuously since %s: %s", units.Moment(s.Asked), strings.Join(parts, "; "))
}

func lastElement(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

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

// visible returns the commits of the given clients, within the chart, that the record's client can know of.
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
