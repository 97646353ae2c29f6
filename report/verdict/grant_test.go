package verdict

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestGrant_meant(t *testing.T) {
	for _, row := range []struct {
		name  string
		grant grant
		note  history.Note
		want  bool
	}{
		{"by its token", grant{token: 5, session: 9}, history.Note{Token: 5, Session: 8}, true},
		{"by its session, and of another token", grant{token: 5, session: 9}, history.Note{Token: 6, Session: 9}, false},
		{"by its session, without a token", grant{token: 5, session: 9}, history.Note{Session: 9}, true},
		{"of another session", grant{token: 5, session: 9}, history.Note{Session: 8}, false},
		{"of another session, and the grant has no token", grant{session: 9}, history.Note{Token: 6, Session: 8}, false},
		{"by the client alone", grant{token: 5, session: 9}, history.Note{}, true},
		{"by the client, for the grant has no session", grant{}, history.Note{Session: 8}, true},
	} {
		if got := row.grant.meant(&row.note); got != row.want {
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

// A grant that a note ended is settled by the next call of its client; one that is held,
// or that ended later than that call, is not.
func TestHolder_settle(t *testing.T) {
	part := func(end int) []*entry { return []*entry{{Belief: Belief{End: time.Duration(end)}}} }
	early, late, held := part(10), part(20), part(0)
	h := holder{grants: []grant{{token: 1, parts: early}, {token: 2, parts: late}, {token: 3, parts: held, held: true}, {token: 4}}}
	h.settle(15)
	var left []int64
	for _, g := range h.grants {
		left = append(left, g.token)
	}
	if len(left) != 2 || left[0] != 2 || left[1] != 3 {
		t.Errorf("left are %v, want 2 and 3", left)
	}
	if !early[0].settled || late[0].settled || held[0].settled {
		t.Errorf("settled: %v, %v, %v", early[0].settled, late[0].settled, held[0].settled)
	}
}

// What cannot resume must not: a client that was told that its grant is lost, was killed
// or has closed its session does not hold again by a note that says so.
func TestBeliefs_apply_endsForGood(t *testing.T) {
	for kind, dead := range map[string]bool{
		history.Lost: true, history.Killed: true, history.Closed: true, history.Suspended: false, history.Deadline: false,
	} {
		g := &grant{held: true, parts: []*entry{{}}}
		NewBeliefs(func(Belief) {}).apply(g, &history.Note{Kind: kind, At: 5}, 1)
		if g.dead != dead || g.held {
			t.Errorf("after %s: dead %v, held %v", kind, g.dead, g.held)
		}
	}
}
