package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// eventOf puts a record into words; ok is false for records that are no part of a story.
func eventOf(n history.Numbered) (e Event, ok bool) {
	e.Record, e.At, e.Who, e.lane = n.N, n.Time(), "observer", noLane
	switch r := n.Record.(type) {
	case *history.Sample:
		e.What = sample(r)
		if r.Op == history.Release {
			e.At = r.Call
		}
	case *history.Window:
		e.At, e.Who, e.What, e.lane = r.Start, "fault", window(r), Faults
	case *history.Session:
		e.What = session(r)
	default:
		e.What = observation(n.Record)
	}
	if _, _, client := span(n); client >= 0 && e.Who != "fault" {
		e.Who, e.lane = fmt.Sprintf("client %d", client), client
	}
	return e, e.What != ""
}

func sample(s *history.Sample) string {
	how := map[history.Outcome]string{history.Failed: "without success", history.Unknown: "with an unknown outcome"}[s.Outcome]
	why := ""
	if s.Err != "" {
		why = ": " + s.Err
	}
	switch {
	case s.Op == history.Acquire && s.Outcome == history.OK && s.Token == 0 && s.Path == "":
		return fmt.Sprintf("is granted, and names no token and no node, nor does the wire show one of session %#x; it had asked at %s", uint64(s.Session), units.Moment(s.Call))
	case s.Op == history.Acquire && s.Outcome == history.OK:
		return fmt.Sprintf("is granted: token %s by node %s of session %#x; it had asked at %s", units.Zxid(s.Token), last(s.Path), uint64(s.Session), units.Moment(s.Call))
	case s.Op == history.Acquire:
		return fmt.Sprintf("asked at %s, %s%s", units.Moment(s.Call), how, why)
	case s.Op == history.Release && s.Outcome == history.OK:
		return fmt.Sprintf("lets go of token %s", units.Zxid(s.Token))
	case s.Op == history.Release:
		return fmt.Sprintf("lets go of token %s, %s%s", units.Zxid(s.Token), how, why)
	case s.Op == history.Write && s.Outcome == history.OK:
		return fmt.Sprintf("writes to the protected resource under token %s, which makes version %d", units.Zxid(s.Token), s.Version)
	case s.Op == history.Write:
		return fmt.Sprintf("writes to the protected resource under token %s, %s%s", units.Zxid(s.Token), how, why)
	case s.Op == history.Effect && s.Outcome == history.OK:
		return fmt.Sprintf("writes to a node that nothing fences, under token %s: it went through", units.Zxid(s.Token))
	case s.Op == history.Effect:
		return fmt.Sprintf("writes to a node that nothing fences, under token %s, %s%s", units.Zxid(s.Token), how, why)
	case s.Outcome == history.OK:
		return fmt.Sprintf("%ss item %q", s.Op, s.Item)
	}
	return strings.TrimSpace(fmt.Sprintf("%ss %q, %s%s", s.Op, s.Item, how, why))
}

func window(w *history.Window) string {
	s := fmt.Sprintf("%s for %s", history.Struck(w.Fault, w.Target), max(w.End-w.Start, 0).Round(time.Millisecond))
	if w.Proof != "" {
		return s + ": " + w.Proof
	}
	return s + ", without proof: " + w.Err
}

func session(r *history.Session) string {
	switch r.Event {
	case history.Opened:
		return fmt.Sprintf("has session %#x on the wire, with a timeout of %v", uint64(r.Session), r.Timeout)
	case history.Closed:
		return fmt.Sprintf("closes session %#x", uint64(r.Session))
	case history.Suspended:
		return fmt.Sprintf("learns that the connection is gone: token %s is suspended", units.Zxid(r.Token))
	case history.Restored:
		return restored(r)
	case history.Lost:
		return fmt.Sprintf("learns that token %s is lost", units.Zxid(r.Token))
	case history.Expired:
		return fmt.Sprintf("hears from the servers that session %#x is gone", uint64(r.Session))
	}
	return string(r.Event)
}

// restored is the client's word: which session it has, the wire shows. A client that was
// told that its grant is lost has no token left to restore.
func restored(r *history.Session) string {
	if r.Token == 0 {
		return "says that it is connected with the same session again; it holds nothing"
	}
	return fmt.Sprintf("says that it is connected with the same session again, and that token %s is restored", units.Zxid(r.Token))
}

// observation puts into words what was seen.
func observation(r history.Record) string {
	switch r := r.(type) {
	case *history.ClaimCheck:
		if r.Token == 0 {
			return fmt.Sprintf("holds by node %s: the observer finds none there", last(r.Path))
		}
		return fmt.Sprintf("holds by node %s: the observer sees that its owner is session %#x, its czxid %s, %d older nodes are before it", last(r.Path), uint64(r.Session), units.Zxid(r.Token), r.Ahead)
	case *history.Snapshot:
		return snapshot(r)
	case *history.Effort:
		return fmt.Sprintf("made %d requests for %d calls; %d notifications and %d connections were the only causes", r.Requests, r.Calls, r.Notifications, r.Connections)
	case *history.Paused:
		told := "was told by " + r.By + " at " + units.Moment(r.Told)
		if r.By == "" {
			told = "was never told that it holds no more"
		}
		return fmt.Sprintf("its process stood still from %s to %s; client %d was granted at %s; it %s", units.Moment(r.Stopped), units.Moment(r.Resumed), r.Next, units.Moment(r.Granted), told)
	case *history.Holds:
		if r.Holds {
			return "answers that it holds"
		}
		return "answers that it does not hold"
	case *history.Emptied:
		return "sees the queue empty"
	case *history.Joined:
		return "joined"
	case *history.Leaving:
		return strings.TrimSpace("leaving " + r.How)
	case *history.Warning:
		return fmt.Sprintf("the observer warns: %d stand, %d should", r.Standing, r.Below)
	case *history.Traffic:
		expected := "no formula says how many"
		if r.ExpectedNotifications != nil {
			expected = fmt.Sprintf("the formula says %d", *r.ExpectedNotifications)
		}
		return fmt.Sprintf("counted %d notifications in %d %ss; %s", r.Notifications, r.Count, r.Of, expected)
	}
	return ""
}

// snapshot lists what stood in the line or in the queue, and who waited.
func snapshot(s *history.Snapshot) string {
	var parts []string
	for i, n := range s.Nodes {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more", len(s.Nodes)-i))
			break
		}
		whose := "a session of nobody here"
		if n.Client >= 0 {
			whose = fmt.Sprintf("client %d, session %#x lives", n.Client, uint64(n.Session))
		}
		parts = append(parts, fmt.Sprintf("node %s (czxid %s) of %s", last(n.Path), units.Zxid(n.Token), whose))
	}
	if len(s.Items) > 0 {
		parts = append(parts, fmt.Sprintf("%d items, the first %s", len(s.Items), last(s.Items[0].Path)))
	}
	for _, w := range s.Waiters {
		watches := ""
		if w.Watches != nil {
			watches = fmt.Sprintf(", %d watches that a change in the line can fire, %d others", *w.Watches, w.Others)
		}
		if w.Behind {
			watches += "; its member had not caught up"
		}
		parts = append(parts, fmt.Sprintf("client %d waited (%d requests and notifications%s)", w.Client, w.Moved, watches))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing")
	}
	return fmt.Sprintf("from %s on, all the time: %s", units.Moment(s.Asked), strings.Join(parts, "; "))
}

// last is the last element of a path.
func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
