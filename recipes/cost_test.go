package recipes

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// The words are held to the numbers where the words are a number.
func TestFormulas_sayWhatTheyCount(t *testing.T) {
	for _, s := range Subjects() {
		f := s.Formulas
		for of, text := range f.Text {
			text, _, _ := strings.Cut(text, ":")
			var want int64
			switch of {
			case "hand-off":
				want = f.Drain(10, 10).Notifications / 9
			case "item":
				want = f.Deliver(10, 1).Notifications
			case "flap":
				leave, back := f.Flap(10, 4)
				want = leave + back
			}
			said := map[string]int64{"N": 10, "3+N/2 on average": 8, "(N+2)/2 on average while N contenders drain": 6, "2N-3": 17}
			got, known := said[text]
			if !known {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatalf("%s: %q is no number", s.Name, text)
				}
				got = int64(n)
			}
			if got != want {
				t.Errorf("%s, %s: the words say %d with 10 clients, the formula %d", s.Name, of, got, want)
			}
		}
	}
}

func TestFormulas_count(t *testing.T) {
	flap := func(subject string, n, behind int) Cost { // Others are the notifications when it comes back
		s, err := Find(subject)
		must(t, err)
		leave, back := s.Formulas.Flap(n, behind)
		return Cost{Notifications: leave, Others: back}
	}
	drain := func(v Variant, n, k int) Cost { return contestFormulas[v].Drain(n, k) }
	deliver := func(v Variant, consumers, items int) Cost {
		c := queueFormulas[v].Deliver(consumers, items)
		return Cost{Notifications: c.Notifications, Others: c.Requests()}
	}
	for _, row := range []struct {
		about string
		got   Cost
		want  Cost
	}{
		{"a flap wakes all who wait, twice, the herd", flap("lock/parent", 10, 4), Cost{Notifications: 9, Others: 8}},
		{"an election is no different", flap("election/parent", 10, 4), Cost{Notifications: 9, Others: 8}},
		{"with predecessor watches it wakes the one behind", flap("election/predecessor", 10, 4), Cost{Notifications: 1}},
		{"the last in line has nobody behind", flap("lock/predecessor", 10, 0), Cost{}},
		{"go-zookeeper's lock is no different", flap("lock/go-zookeeper", 10, 4), Cost{Notifications: 1}},
		{"idle consumers that watch items do not see each other", flap("queue/parent", 10, 4), Cost{}},
		{"consumers in line do", flap("queue/predecessor", 10, 4), Cost{Notifications: 1}},
		{"one alone flaps and wakes nobody, the herd", flap("lock/parent", 1, 0), Cost{}},
		{"one alone flaps and wakes nobody", flap("lock/predecessor", 1, 0), Cost{}},

		{"a whole drain of ten, the herd", drain(Parent, 10, 10), Cost{Notifications: 54, Lists: 45, Deletes: 10}},
		{"a whole drain of ten, one by one", drain(Predecessor, 10, 10), Cost{Notifications: 9, Others: 10 + 9}},
		{"a single one wakes nobody, the herd", drain(Parent, 1, 1), Cost{Deletes: 1}},
		{"a single one wakes nobody", drain(Predecessor, 1, 1), Cost{Others: 1}},
		{"the second in line reads the mark too", drain(Predecessor, 2, 1), Cost{Notifications: 1, Others: 2}},
		{"nobody released", drain(Parent, 10, 0), Cost{}},

		{"with parent watches an item wakes every consumer", deliver(Parent, 10, 1), Cost{Notifications: 10, Others: 51}},
		{"and so does each of many", deliver(Parent, 10, 7), Cost{Notifications: 70, Others: 357}},
		{"in a line an item wakes the head and the next", deliver(Predecessor, 10, 1), Cost{Notifications: 2, Others: 10}},
		{"a single consumer has no next", deliver(Predecessor, 1, 3), Cost{Notifications: 3, Others: 24}},
		{"without an item nobody is woken", deliver(Parent, 10, 0), Cost{}},
		{"without a consumer nobody is woken", deliver(Predecessor, 0, 5), Cost{}},
	} {
		if row.got != row.want {
			t.Errorf("%s: %+v, want %+v", row.about, row.got, row.want)
		}
	}
}

// crowd is n sessions that stand in line together, counted on the wire.
type crowd struct {
	tap    *wire.Tap
	grants chan *Grant
	base   wire.Counts
}

// costOf is what was counted, in the terms of the formulas.
func costOf(n wire.Counts) Cost {
	lists, deletes := n.Requests.Of(wire.GetChildren)+n.Requests.Of(wire.GetChildren2), n.Requests.Of(wire.Delete)
	return Cost{
		Notifications: n.Notifications.Total(), Lists: lists, Deletes: deletes,
		Others: n.Requests.Total() - lists - deletes,
	}
}

// queueUp has n sessions join one after the other, each when all before it wait. requests returns how many
// lists and reads it causes that the i-th joins.
func queueUp(
	t *testing.T, n int, bind func(*Session, string) acquirer, requests func(i int) (lists, gets int64),
) *crowd {
	ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
	c := &crowd{tap: wire.New(clock()), grants: make(chan *Grant, n)}
	var lists, gets int64
	for i := 1; i <= n; i++ {
		acquire := bind(open(t, c.tap.Client(i).Dial), path)
		go func() {
			g, err := acquire(ctx)
			if err != nil {
				t.Error(err)
			}
			c.grants <- g
		}()
		moreLists, moreGets := requests(i)
		lists, gets = lists+moreLists, gets+moreGets
		eventually(t, fmt.Sprintf("%d stand in line", i), func() bool {
			got := c.tap.Totals()
			return got.InFlight == 0 && got.Requests.Of(wire.GetChildren2) == lists && got.Requests.Of(wire.GetData) == gets
		})
	}
	c.base = c.tap.Totals()
	return c
}

// drain releases the n grants one after the other, and compares the wire with the formulas after each.
func (c *crowd) drain(t *testing.T, n int, formulas Formulas) {
	for i := 1; i <= n; i++ {
		g := <-c.grants
		if g == nil {
			return
		}
		release(t, g)
		want := formulas.Drain(n, i)
		eventually(t, fmt.Sprintf("after release %d the wire has seen %+v", i, want), func() bool {
			now := c.tap.Totals().Sub(c.base)
			return now.InFlight == 0 && costOf(now) == want
		})
	}
}

// The formulas, counted on the wire of a real ensemble, after every release. The k-th lists once with its
// create; one that must wait lists once more with a watch (parent), for which it also wakes the k-2 who wait
// already, or watches its predecessor.
func TestContestFormulas_areWhatTheWireSees(t *testing.T) {
	const n = 10
	for _, k := range kinds {
		for _, v := range variants {
			t.Run(k.name+"/"+string(v), func(t *testing.T) {
				bind := func(s *Session, path string) acquirer { return k.bind(s, path, v) }
				queueUp(t, n, bind, func(i int) (lists, gets int64) {
					switch {
					case i == 1:
						return 1, 0
					case v == Parent:
						return int64(i), 0
					}
					return 1, 1
				}).drain(t, n, contestFormulas[v])
			})
		}
	}
}
