package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// tell puts a record into words; ok is false for records that tell nothing of the story.
func tell(n history.Numbered) (e Event, ok bool) {
	e.Record = n.N
	switch {
	case n.Sample != nil:
		e.At, e.Who, e.What = n.Sample.Return, fmt.Sprintf("client %d", n.Sample.Client), sample(n.Sample)
		if n.Sample.Op == history.Release {
			e.At = n.Sample.Call
		}
	case n.Window != nil:
		e.At, e.Who, e.What = n.Window.Start, "fault", window(n.Window)
	case n.Note != nil:
		e.At, e.Who, e.What = n.Note.At, "lab", note(n.Note)
		if n.Note.Client >= 0 {
			e.Who = fmt.Sprintf("client %d", n.Note.Client)
		}
	}
	return e, e.What != ""
}

func sample(s *history.Sample) string {
	how := map[history.Outcome]string{history.Failed: "in vain", history.Unknown: "with an unknown outcome"}[s.Outcome]
	why := ""
	if s.Err != "" {
		why = ": " + s.Err
	}
	switch {
	case s.Op == history.Acquire && s.Outcome == history.OK:
		return fmt.Sprintf("is granted: token %d by node %s of session %#x; it had asked at %s", s.Token, last(s.Path), uint64(s.Session), at(s.Call))
	case s.Op == history.Acquire:
		return fmt.Sprintf("asked at %s, %s%s", at(s.Call), how, why)
	case s.Op == history.Release && s.Outcome == history.OK:
		return fmt.Sprintf("lets go of token %d", s.Token)
	case s.Op == history.Release:
		return fmt.Sprintf("lets go of token %d, %s%s", s.Token, how, why)
	case s.Op == history.Write && s.Outcome == history.OK:
		return fmt.Sprintf("writes to the protected resource under token %d, which makes version %d", s.Token, s.Version)
	case s.Op == history.Write:
		return fmt.Sprintf("writes to the protected resource under token %d, %s%s", s.Token, how, why)
	case s.Outcome == history.OK:
		return fmt.Sprintf("%ss item %q", s.Op, s.Item)
	}
	return strings.TrimSpace(fmt.Sprintf("%ss %q, %s%s", s.Op, s.Item, how, why))
}

func window(w *history.Window) string {
	s := fmt.Sprintf("%s on %s for %s", w.Fault, w.Target, max(w.End-w.Start, 0).Round(time.Millisecond))
	if w.Proof != "" {
		return s + ": " + w.Proof
	}
	return s + ", without proof: " + w.Err
}

func note(n *history.Note) string {
	switch n.Kind {
	case history.Opened:
		return fmt.Sprintf("has session %#x with a timeout of %v", uint64(n.Session), n.Timeout)
	case history.Closed:
		return fmt.Sprintf("closes session %#x", uint64(n.Session))
	case history.Suspended:
		return fmt.Sprintf("learns that the connection is gone: token %d is in doubt", n.Token)
	case history.Resumed:
		return fmt.Sprintf("is connected with the same session again: token %d is good", n.Token)
	case history.Lost:
		return fmt.Sprintf("learns that token %d is lost", n.Token)
	case history.Expired:
		return fmt.Sprintf("is sent the servers' word that session %#x is gone", uint64(n.Session))
	case history.Killed, history.Deadline, history.Waiting, history.Leaving, history.Joined:
		return strings.TrimSpace(n.Kind + " " + n.Text)
	}
	return observation(n)
}

// observation puts into words what the lab saw.
func observation(n *history.Note) string {
	c := n.Counts
	switch n.Kind {
	case history.Checked:
		if n.Token == 0 {
			return fmt.Sprintf("holds by node %s: the lab looks, and it is not there", last(n.Path))
		}
		return fmt.Sprintf("holds by node %s: the lab looks, its owner is session %#x, its czxid %d, %d older nodes are before it", last(n.Path), uint64(n.Session), n.Token, c[history.CountAhead])
	case history.Node:
		return fmt.Sprintf("has node %s in line from %s on, czxid %d, session %#x lives", last(n.Path), at(time.Duration(c[history.CountAsked])), n.Token, uint64(n.Session))
	case history.Waiter:
		watches := ""
		if w, ok := c[history.CountWatches]; ok {
			watches = fmt.Sprintf("; it has %d watches that a change in the line can fire, and %d others", w, c[history.CountElse])
		}
		return fmt.Sprintf("waits since before %s; %d requests and notifications meanwhile%s", at(time.Duration(c[history.CountAsked])), c[history.CountMoved], watches)
	case history.Looked:
		return fmt.Sprintf("looked at the line from %s on: %d nodes were there all the time", at(time.Duration(c[history.CountAsked])), c[history.CountNodes])
	case history.Committed:
		return fmt.Sprintf("the wire shows that its request for %s was carried out (zxid %#x); the reply never reached it: item %q", last(n.Path), uint64(n.Token), n.Text)
	case history.Effort:
		return fmt.Sprintf("made %d requests for %d calls; %d notifications and %d connections were the only causes", c[history.CountRequests], c[history.CountCalls], c[history.CountNotified], c[history.CountConnects])
	case history.Emptied:
		return "the lab sees the queue empty"
	case history.Fan:
		return fmt.Sprintf("counted %d notifications in %d hand-offs; the formula says %d", c["notifications"], c["handoffs"], c["expected.notifications"])
	}
	return ""
}

// at is an instant on the trial's clock.
func at(t time.Duration) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// last is the last element of a path.
func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
