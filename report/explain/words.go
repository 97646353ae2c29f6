package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// eventOf returns the event of a record in a trial of the given recipe. ok is false for records that are
// never part of a story.
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

// outcomeOf describes the outcome and the error of an operation that did not succeed.
func outcomeOf(s *history.Sample) (how, why string) {
	if s.Err != "" {
		why = ": " + s.Err
	}
	return map[history.Outcome]string{history.Failed: "without success", history.Unknown: "with an unknown outcome"}[s.Outcome], why
}

func describeSample(s *history.Sample) string {
	how, why := outcomeOf(s)
	switch {
	case s.Op == history.Acquire && s.Outcome == history.OK && s.Token == 0 && s.Path == "":
		return fmt.Sprintf("receives a grant without a token or a node, and the network traffic shows no node of session %#x; acquire was called at %s", uint64(s.Session), units.Moment(s.Call))
	case s.Op == history.Acquire && s.Outcome == history.OK:
		return fmt.Sprintf("is granted token %s by node %s of session %#x; acquire was called at %s", units.Zxid(s.Token), lastElement(s.Path), uint64(s.Session), units.Moment(s.Call))
	case s.Op == history.Acquire:
		return fmt.Sprintf("called acquire at %s, %s%s", units.Moment(s.Call), how, why)
	case s.Op == history.Release && s.Outcome == history.OK:
		return fmt.Sprintf("releases token %s", units.Zxid(s.Token))
	case s.Op == history.Release:
		return fmt.Sprintf("releases token %s, %s%s", units.Zxid(s.Token), how, why)
	case s.Op == history.Write && s.Outcome == history.OK:
		return fmt.Sprintf("writes to the protected resource with token %s; the new version is %d", units.Zxid(s.Token), s.Version)
	case s.Op == history.Write:
		return fmt.Sprintf("writes to the protected resource with token %s, %s%s", units.Zxid(s.Token), how, why)
	case s.Op == history.Effect && s.Outcome == history.OK:
		return fmt.Sprintf("writes to an unfenced node with token %s: accepted", units.Zxid(s.Token))
	case s.Op == history.Effect:
		return fmt.Sprintf("writes to an unfenced node with token %s, %s%s", units.Zxid(s.Token), how, why)
	case s.Outcome == history.OK:
		return fmt.Sprintf("%ss item %q", s.Op, s.Item)
	}
	return strings.TrimSpace(fmt.Sprintf("%ss %q, %s%s", s.Op, s.Item, how, why))
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
	how, why := outcomeOf(s)
	return fmt.Sprintf("called %s at %s, %s%s", call, units.Moment(s.Call), how, why)
}

func describeWindow(w *history.Window) string {
	s := fmt.Sprintf("%s for %s", history.Struck(w.Fault, w.Target), max(w.End-w.Start, 0).Round(time.Millisecond))
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
		return describeRestored(r)
	case history.Lost:
		return fmt.Sprintf("is notified that token %s is lost", units.Zxid(r.Token))
	case history.Expired:
		return fmt.Sprintf("is notified by the servers that session %#x expired", uint64(r.Session))
	}
	return string(r.Event)
}

// describeRestored describes a client's report; only the wire shows which session the client has. A
// client that was notified of the loss of its grant has no token to restore.
func describeRestored(r *history.Session) string {
	if r.Token == 0 {
		return "reports that it reconnected with the same session; it does not hold a grant"
	}
	return fmt.Sprintf("reports that it reconnected with the same session, and that token %s is restored", units.Zxid(r.Token))
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
		notification := "was notified by " + r.By + " at " + units.Moment(r.Told)
		if r.By == "" {
			notification = "was never notified that it no longer holds the grant"
		}
		return fmt.Sprintf("the holder's process was paused from %s to %s; client %d received its grant at %s; the holder %s", units.Moment(r.Stopped), units.Moment(r.Resumed), r.Next, units.Moment(r.Granted), notification)
	case *history.Holds:
		if r.Holds {
			return "the queried client replies that it holds the grant"
		}
		return "the queried client replies that it does not hold the grant"
	case *history.Emptied:
		return "found the queue empty"
	case *history.Joined:
		return "joined"
	case *history.Leaving:
		return strings.TrimSpace("leaving " + r.How)
	case *history.Warning:
		return fmt.Sprintf("warns that only %d nodes were in line; at least %d were expected", r.Standing, r.Below)
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
