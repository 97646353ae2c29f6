package wire

import (
	"slices"
	"testing"
)

// lostReplies returns the numbers of the requests whose replies were lost.
func (b *bench) lostReplies() (xids []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Kind == ReplyLost && e.Session == 5 {
			xids = append(xids, e.Request.Xid)
		}
	}
	return xids
}

func TestConn_namesTheRequestsWhoseRepliesAreLost(t *testing.T) {
	for _, row := range []struct {
		about string
		rule  *Rule
		want  []int32
	}{
		{"all that change something and are open at its end", nil, []int32{2, 3, 5}},
		{"one whose reply is swallowed, and what is behind it", &Rule{Op: Delete, Act: DropReply}, []int32{3, 5}},
		{"one whose reply is swallowed on a connection that stays, and what is open later", &Rule{Op: Delete, Act: DropReply, Keep: true}, []int32{3, 5}},
		{"all up to a request behind which the connection is cut", &Rule{Op: Multi, Act: CutAfter}, []int32{1, 2, 3, 5}},
	} {
		t.Run(row.about, func(t *testing.T) {
			b := newBench(t)
			b.greet()
			if row.rule != nil {
				b.arm(*row.rule)
			}
			b.write(ask(1, Create, "/a"), ask(2, Create, "/b"), ask(3, Delete, "/c"), ask(4, Exists, "/d"))
			_, _ = b.conn.Write(ask(5, Multi, "")) // cut by one of the rules
			b.far.feed(answer(1, 1, 0, ""))
			if row.rule != nil && row.rule.Act == DropReply {
				b.far.feed(answer(2, 2, 0, ""), answer(3, 3, 0, ""), answer(4, 3, 0, ""))
			}
			buf := make([]byte, 1<<10)
			for {
				if _, err := b.conn.Read(buf); err != nil { // the tape ends
					break
				}
			}
			b.tap.Close()
			if got := b.lostReplies(); !slices.Equal(got, row.want) {
				t.Errorf("requests %v, want %v", got, row.want)
			}
		})
	}
}
