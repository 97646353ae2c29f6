package recipes

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func find(t *testing.T, name string) Subject {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

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

func TestFormulas_countAFlap(t *testing.T) {
	for _, row := range []struct {
		about, subject string
		n, behind      int
		leave, back    int64
	}{
		{"with parent watches a flap wakes all who wait, twice", "lock/parent", 10, 4, 9, 8},
		{"an election is no different", "election/parent", 10, 4, 9, 8},
		{"with predecessor watches it wakes the one behind", "election/predecessor", 10, 4, 1, 0},
		{"the last in line has nobody behind", "lock/predecessor", 10, 0, 0, 0},
		{"go-zookeeper's lock is no different", "lock/go-zookeeper", 10, 4, 1, 0},
		{"idle consumers that watch items do not see each other", "queue/parent", 10, 4, 0, 0},
		{"consumers in line do", "queue/predecessor", 10, 4, 1, 0},
		{"one alone wakes nobody, the herd", "lock/parent", 1, 0, 0, 0},
		{"one alone wakes nobody", "lock/predecessor", 1, 0, 0, 0},
	} {
		t.Run(row.about, func(t *testing.T) {
			if leave, back := find(t, row.subject).Formulas.Flap(row.n, row.behind); leave != row.leave || back != row.back {
				t.Errorf("%d and %d, want %d and %d", leave, back, row.leave, row.back)
			}
		})
	}
}

// crowd is n sessions that stand in line together, counted on the wire.
type crowd struct {
	tap    *wire.Tap
	grants chan *Grant
	base   wire.Counts
}

func (c *crowd) since() wire.Counts { return c.tap.Totals().Sub(c.base) }

// cost is what was counted since base, in the terms of the formula.
func (c *crowd) cost() Cost {
	n := c.since()
	lists, deletes := n.Requests.Of(wire.GetChildren2), n.Requests.Of(wire.Delete)
	return Cost{
		Notifications: n.Notifications.Total(), Lists: lists, Deletes: deletes,
		Others: n.Requests.Total() - lists - deletes,
	}
}

// queueUp has n sessions join one after the other, each when all before it wait: the
// k-th lists once with its create; one that must wait lists once more with a
// watch (parent), for which it also wakes the k-2 who wait already, or watches its
// predecessor.
func queueUp(t *testing.T, k kind, v Variant, n int) *crowd {
	ctx, path := within(t, 60*time.Second), madePath(t, open(t, nil))
	c := &crowd{tap: wire.New(clock()), grants: make(chan *Grant, n)}
	var lists, gets int64
	for i := 1; i <= n; i++ {
		s := open(t, c.tap.Client(i).Dial)
		go func() {
			g, err := k.bind(s, path, v)(ctx)
			if err != nil {
				t.Error(err)
			}
			c.grants <- g
		}()
		switch {
		case i == 1:
			lists++
		case v == Parent:
			lists += int64(i)
		default:
			lists, gets = lists+1, gets+1
		}
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
		if err := g.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		want := formulas.Drain(n, i)
		eventually(t, fmt.Sprintf("after release %d the wire has seen %+v", i, want), func() bool {
			return c.since().InFlight == 0 && c.cost() == want
		})
	}
}

// The formulas, counted on the wire of a real ensemble, after every release.
func TestContestFormulas_areWhatTheWireSees(t *testing.T) {
	const n = 10
	for _, k := range kinds {
		for _, v := range variants {
			t.Run(k.name+"/"+string(v), func(t *testing.T) {
				queueUp(t, k, v, n).drain(t, n, contestFormulas[v])
			})
		}
	}
}

func TestContestFormulas_countADrain(t *testing.T) {
	for _, row := range []struct {
		about string
		v     Variant
		n, k  int
		want  Cost
	}{
		{"a whole drain of ten, the herd", Parent, 10, 10, Cost{Notifications: 54, Lists: 45, Deletes: 10}},
		{"a whole drain of ten, one by one", Predecessor, 10, 10, Cost{Notifications: 9, Others: 10 + 9}},
		{"a single one wakes nobody, the herd", Parent, 1, 1, Cost{Deletes: 1}},
		{"a single one wakes nobody", Predecessor, 1, 1, Cost{Others: 1}},
		{"the second in line reads the mark too", Predecessor, 2, 1, Cost{Notifications: 1, Others: 2}},
		{"nobody released", Parent, 10, 0, Cost{}},
	} {
		t.Run(row.about, func(t *testing.T) {
			if got := contestFormulas[row.v].Drain(row.n, row.k); got != row.want {
				t.Errorf("%s, the first %d hand-offs of %d: %+v, want %+v", row.v, row.k, row.n, got, row.want)
			}
		})
	}
}

func TestQueueFormulas_countItems(t *testing.T) {
	for _, c := range []struct {
		name                string
		variant             Variant
		consumers, items    int
		notifications, most int64
	}{
		{"with parent watches an item wakes every consumer", Parent, 10, 1, 10, 51},
		{"and so does each of many", Parent, 10, 7, 70, 357},
		{"with predecessor watches it wakes the head and the next", Predecessor, 10, 1, 2, 10},
		{"a single consumer has no next", Predecessor, 1, 3, 3, 24},
		{"without an item nobody is woken", Parent, 10, 0, 0, 0},
		{"without a consumer nobody is woken", Predecessor, 0, 5, 0, 0},
	} {
		got := queueFormulas[c.variant].Deliver(c.consumers, c.items)
		if got.Notifications != c.notifications || got.Requests() != c.most {
			t.Errorf("%s: %d notifications and %d requests, want %d and %d", c.name, got.Notifications, got.Requests(), c.notifications, c.most)
		}
	}
}
