package facts

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestGrant_meant(t *testing.T) {
	for _, row := range []struct {
		name  string
		grant grant
		event history.Session
		want  bool
	}{
		{"by its token", grant{token: 5, session: 9}, history.Session{Token: 5, Session: 8}, true},
		{"by its session, and of another token", grant{token: 5, session: 9}, history.Session{Token: 6, Session: 9}, false},
		{"by its session, without a token", grant{token: 5, session: 9}, history.Session{Session: 9}, true},
		{"of another session", grant{token: 5, session: 9}, history.Session{Session: 8}, false},
		{"of another session, and the grant has no token", grant{session: 9}, history.Session{Token: 6, Session: 8}, false},
		{"by the client alone", grant{token: 5, session: 9}, history.Session{}, true},
		{"by the client, for the grant has no session", grant{}, history.Session{Session: 8}, true},
	} {
		if got := row.grant.matches(&row.event); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestHolder_find(t *testing.T) {
	h := holder{grants: []grant{{token: 5}, {token: 6}, {token: 7}}}
	for token, want := range map[int64]int{5: 0, 6: 1, 7: 2, 8: -1, 0: 2} {
		if got := h.find(&history.Sample{Token: token}); got != want {
			t.Errorf("token %d: found %d, want %d", token, got, want)
		}
	}
}

// A grant that an event ended is final at the next call of its client; one that is held,
// or that ended later than that call, is not.
func TestHolder_finish(t *testing.T) {
	part := func(end int) []*entry { return []*entry{{Belief: Belief{End: time.Duration(end)}}} }
	early, late, held := part(10), part(20), part(0)
	h := holder{grants: []grant{{token: 1, parts: early}, {token: 2, parts: late}, {token: 3, parts: held, held: true}, {token: 4}}}
	h.finish(15)
	var left []int64
	for _, g := range h.grants {
		left = append(left, g.token)
	}
	if len(left) != 2 || left[0] != 2 || left[1] != 3 {
		t.Errorf("left are %v, want 2 and 3", left)
	}
	if !early[0].final || late[0].final || held[0].final {
		t.Errorf("final: %v, %v, %v", early[0].final, late[0].final, held[0].final)
	}
}

// A client whose grant is lost, that was killed or has closed its session does not hold
// again by an event that says so.
func TestBeliefs_apply_endsForGood(t *testing.T) {
	for event, dead := range map[history.SessionEvent]bool{
		history.Lost: true, history.Killed: true, history.Closed: true, history.Suspended: false, history.Deadline: false,
	} {
		g := &grant{held: true, parts: []*entry{{}}}
		NewBeliefs(history.Header{}, func(Belief) {}).apply(g, &history.Session{Event: event, At: 5}, 1)
		if g.over != dead || g.held {
			t.Errorf("after %s: dead %v, held %v", event, g.over, g.held)
		}
	}
}

// A history may name any client: those that are no small number have a value too.
func TestValueAt_ofClients(t *testing.T) {
	p := map[int]*int{}
	for _, client := range []int{0, 3, 1 << 14, 1 << 40, -1} {
		*ValueAt(p, client) = client + 7
	}
	for _, client := range []int{0, 3, 1 << 14, 1 << 40, -1} {
		if got := *ValueAt(p, client); got != client+7 {
			t.Errorf("client %d has %d", client, got)
		}
	}
	if got := *ValueAt(p, 1); got != 0 {
		t.Errorf("a client without a value has %d", got)
	}
	if len(p) != 6 {
		t.Errorf("%d clients have a value", len(p))
	}
}
