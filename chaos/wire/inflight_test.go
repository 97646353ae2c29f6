package wire

import (
	"testing"

	"pgregory.net/rapid"
)

// The ring does what a slice would.
func TestInflight_isAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q inflight
		var model []int32
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			xid := rapid.Int32Range(-4, 20).Draw(t, "xid")
			if rapid.Bool().Draw(t, "push") {
				q.push(sent{xid: xid})
				model = append(model, xid)
				continue
			}
			at := -1
			for i, x := range model {
				if x == xid {
					at = i
					break
				}
			}
			i, ok := q.find(xid)
			if ok != (at >= 0) || ok && i != at {
				t.Fatalf("found %d at %d, %v; want %d", xid, i, ok, at)
			}
			if ok {
				if s := q.remove(i); s.xid != xid {
					t.Fatalf("removed %d, want %d", s.xid, xid)
				}
				model = append(model[:at:at], model[at+1:]...)
			}
		}
		for i, x := range model {
			if q.at(i).xid != x {
				t.Fatalf("at %d is %d, want %d", i, q.at(i).xid, x)
			}
		}
		if n := q.clear(); n != len(model) {
			t.Fatalf("cleared %d, want %d", n, len(model))
		}
	})
}
