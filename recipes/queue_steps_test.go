package recipes

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestQueue_standsADisturbanceAtEveryStep(t *testing.T) {
	for _, v := range variants {
		for _, row := range []struct {
			about string
			run   func(t *testing.T, v Variant, helper *Session, s *step) bool
		}{
			{"putting", puts},
			{"taking what is there", takesWhatIsThere},
			{"waiting for an item", takesWhatComes},
			{"waiting, cancelled when it hits", stopsTaking},
			{"polling past the line", polls},
		} {
			t.Run(string(v)+"/"+row.about, func(t *testing.T) {
				t.Parallel()
				helper := open(t, nil)
				eachStep(t, func(t *testing.T, s *step) bool { return row.run(t, v, helper, s) })
			})
		}
	}
}

// ledger is what is known of the items of a queue.
type ledger struct {
	put, taken []string // for certain
	maybePut   []string // the put's outcome is unknown
	maybeTaken []string // the take's outcome is unknown
}

// check empties the queue and compares. An item is lost if it was certainly put and
// is neither in the queue nor taken nor with a caller who got it as
// perhaps taken.
func (l *ledger) check(t *testing.T, q *Queue) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	if err := q.s.barrier(ctx, q.parent+"/barrier"); err != nil {
		t.Fatal(err)
	}
	var left []string
	for {
		item, err := q.Poll(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if item == nil {
			break
		}
		left = append(left, string(item))
	}
	for _, item := range l.put {
		n := count(left, item) + count(l.taken, item)
		maybe := count(l.maybeTaken, item)
		if n > 1 || n+maybe == 0 {
			t.Errorf("item %q: %d left, %d taken, %d maybe taken", item, count(left, item), count(l.taken, item), maybe)
		}
	}
	for _, item := range l.maybePut {
		if n := count(left, item); n > 1 {
			t.Errorf("item %q, whose put had no known outcome, is there %d times", item, n)
		}
	}
	for _, item := range append(left, l.taken...) {
		if !slices.Contains(l.put, item) && !slices.Contains(l.maybePut, item) {
			t.Errorf("item %q was never put", item)
		}
	}
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// took notes the outcome of a take.
func (l *ledger) took(t *testing.T, item []byte, err error) {
	t.Helper()
	switch {
	case err == nil && item == nil:
		t.Error("neither item nor error")
	case err == nil:
		l.taken = append(l.taken, string(item))
	case Indeterminate(err) && item != nil:
		l.maybeTaken = append(l.maybeTaken, string(item))
	case item != nil:
		t.Errorf("item %q with an error that says nothing of an unknown outcome: %v", item, err)
	}
}

// fill puts items that are certainly there.
func (l *ledger) fill(t *testing.T, q *Queue, items ...string) {
	t.Helper()
	for _, item := range items {
		if err := q.Put(within(t, 10*time.Second), []byte(item)); err != nil {
			t.Fatal(err)
		}
		l.put = append(l.put, item)
	}
}

func puts(t *testing.T, v Variant, helper *Session, step *step) bool {
	ctx, path, l := within(t, 30*time.Second), madePath(t, helper), &ledger{}
	s, tap := tapped(t)
	q := NewQueue(s, path, v)
	step.arm(t, tap)
	for _, item := range []string{"a", "b"} {
		switch err := q.Put(ctx, []byte(item)); {
		case err == nil:
			l.put = append(l.put, item)
		case Indeterminate(err):
			l.maybePut = append(l.maybePut, item)
		default:
			t.Errorf("put %q: %v", item, err)
		}
	}
	l.check(t, NewQueue(helper, path, v))
	return step.ended()
}

func takesWhatIsThere(t *testing.T, v Variant, helper *Session, step *step) bool {
	ctx, path, l := within(t, 30*time.Second), madePath(t, helper), &ledger{}
	l.fill(t, NewQueue(helper, path, v), "a", "b", "c")
	s, tap := tapped(t)
	q := NewQueue(s, path, v)
	if v == Predecessor {
		if err := s.MakePath(ctx, path+"/"+ticketNode); err != nil { // no step of the recipe
			t.Fatal(err)
		}
	}
	step.arm(t, tap)
	for range 2 {
		item, err := q.Take(ctx)
		l.took(t, item, err)
		if err != nil && !Indeterminate(err) {
			t.Errorf("take: %v", err)
		}
	}
	noTickets(t, helper, path)
	l.check(t, NewQueue(helper, path, v))
	return step.ended()
}

func takesWhatComes(t *testing.T, v Variant, helper *Session, step *step) bool {
	ctx, path, l := within(t, 30*time.Second), madePath(t, helper), &ledger{}
	s, tap := tapped(t)
	step.arm(t, tap)
	type taken struct {
		item []byte
		err  error
	}
	got := make(chan taken, 1)
	go func() {
		item, err := NewQueue(s, path, v).Take(ctx)
		got <- taken{item, err}
	}()
	if v == Predecessor {
		eventually(t, "the consumer stands in line, or was hit", func() bool {
			return step.fired() || len(lineAt(t, helper, path+"/"+ticketNode, ticketPrefix)) == 1
		})
	}
	l.fill(t, NewQueue(helper, path, v), "a")
	one := <-got
	l.took(t, one.item, one.err)
	if one.err != nil && !Indeterminate(one.err) {
		t.Errorf("take: %v", one.err)
	}
	noTickets(t, helper, path)
	l.check(t, NewQueue(helper, path, v))
	return step.ended()
}

func stopsTaking(t *testing.T, v Variant, helper *Session, step *step) bool {
	ctx, path, l := within(t, 30*time.Second), madePath(t, helper), &ledger{}
	s, tap := tapped(t)
	step.arm(t, tap)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	gaveUp := make(chan struct{})
	var item []byte
	var err error
	go func() {
		defer close(gaveUp)
		item, err = NewQueue(s, path, v).Take(waiting)
	}()
	// With the item put at any moment, the cancellation meets every step of a take.
	l.fill(t, NewQueue(helper, path, v), "a")
	select {
	case <-step.shot.Fired():
	case <-gaveUp:
	}
	cancel()
	<-gaveUp
	l.took(t, item, err)
	noTickets(t, helper, path)
	if s.Err() != nil {
		t.Errorf("the session did not live through it: %v", s.Err())
	}
	l.check(t, NewQueue(helper, path, v))
	return step.ended()
}

func polls(t *testing.T, v Variant, helper *Session, step *step) bool {
	ctx, path, l := within(t, 30*time.Second), madePath(t, helper), &ledger{}
	l.fill(t, NewQueue(helper, path, v), "a", "b")
	s, tap := tapped(t)
	// The session has to know that there are items: it may be hit before it has
	// heard anything, and come back to a member that has not heard of them either.
	if err := s.barrier(ctx, path+"/barrier"); err != nil {
		t.Fatal(err)
	}
	step.arm(t, tap)
	q := NewQueue(s, path, v)
	item, err := q.Remove(ctx)
	l.took(t, item, err)
	if err != nil && !Indeterminate(err) {
		t.Errorf("remove: %v", err)
	}
	l.check(t, NewQueue(helper, path, v))
	return step.ended()
}

// noTickets checks that nobody is left standing in line.
func noTickets(t *testing.T, s *Session, path string) {
	t.Helper()
	eventually(t, "no ticket is left", func() bool {
		return len(lineAt(t, s, path+"/"+ticketNode, ticketPrefix)) == 0
	})
}
