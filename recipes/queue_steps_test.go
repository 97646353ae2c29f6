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
			items []string // in the queue before
			play  func(t *testing.T, q *disturbedQueue)
		}{
			{"putting", nil, puts},
			{"taking what is there", []string{"a", "b", "c"}, takesWhatIsThere},
			{"waiting for an item", nil, takesWhatComes},
			{"waiting, cancelled when it hits", nil, stopsTaking},
			{"polling past the line", []string{"a", "b"}, polls},
		} {
			t.Run(string(v)+"/"+row.about, func(t *testing.T) {
				eachStep(t, func(t *testing.T, d *disturbed) {
					q := &disturbedQueue{disturbed: d, Queue: NewQueue(d.s, d.path, v), byHelper: NewQueue(d.helper, d.path, v)}
					q.fill(t, row.items...)
					row.play(t, q)
					eventually(t, "no ticket is left", func() bool { return q.tickets(t) == 0 })
					q.check(t)
				})
			})
		}
	}
}

// disturbedQueue is a queue as a client uses it while a step is disturbed.
type disturbedQueue struct {
	*disturbed
	*Queue
	byHelper *Queue // of the helper
	ledger
}

// tickets returns how many consumers stand in line.
func (q *disturbedQueue) tickets(t *testing.T) int {
	return len(lineAt(t, q.helper, q.path+"/"+ticketNode, ticketPrefix))
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
func (q *disturbedQueue) check(t *testing.T) {
	t.Helper()
	l, ctx := q.ledger, within(t, 10*time.Second)
	must(t, q.helper.barrier(ctx, q.path+"/barrier"))
	var left []string
	for {
		item, err := q.byHelper.Poll(ctx)
		must(t, err)
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

// got is took for a take that nobody has cancelled.
func (l *ledger) got(t *testing.T, item []byte, err error) {
	t.Helper()
	l.took(t, item, err)
	if err != nil && !Indeterminate(err) {
		t.Errorf("take: %v", err)
	}
}

// fill puts items that are certainly there.
func (q *disturbedQueue) fill(t *testing.T, items ...string) {
	t.Helper()
	for _, item := range items {
		must(t, q.byHelper.Put(within(t, 10*time.Second), []byte(item)))
		q.put = append(q.put, item)
	}
}

func puts(t *testing.T, q *disturbedQueue) {
	q.arm(t)
	for _, item := range []string{"a", "b"} {
		switch err := q.Put(q.ctx, []byte(item)); {
		case err == nil:
			q.put = append(q.put, item)
		case Indeterminate(err):
			q.maybePut = append(q.maybePut, item)
		default:
			t.Errorf("put %q: %v", item, err)
		}
	}
}

func takesWhatIsThere(t *testing.T, q *disturbedQueue) {
	must(t, q.disturbed.s.MakePath(q.ctx, q.path+"/"+ticketNode)) // no step of the recipe
	q.arm(t)
	for range 2 {
		item, err := q.Take(q.ctx)
		q.got(t, item, err)
	}
}

func takesWhatComes(t *testing.T, q *disturbedQueue) {
	q.arm(t)
	taking := begin(q.ctx, q.Take)
	if q.variant == Predecessor {
		eventually(t, "the consumer stands in line, or was hit", func() bool { return q.fired() || q.tickets(t) == 1 })
	}
	q.fill(t, "a")
	taken := <-taking
	q.got(t, taken.value, taken.err)
}

func stopsTaking(t *testing.T, q *disturbedQueue) {
	q.arm(t)
	waiting, cancel := context.WithCancel(q.ctx)
	defer cancel()
	taking := begin(waiting, q.Take)
	// With the item put at any moment, the cancellation meets every step of a take.
	q.fill(t, "a")
	var taken outcome[[]byte]
	select {
	case <-q.shot.Fired():
		cancel()
		taken = <-taking
	case taken = <-taking:
	}
	q.took(t, taken.value, taken.err)
	must(t, q.disturbed.s.Err())
}

func polls(t *testing.T, q *disturbedQueue) {
	// The session has to know that there are items: it may be hit before it has
	// heard anything, and come back to a member that has not heard of them either.
	must(t, q.disturbed.s.barrier(q.ctx, q.path+"/barrier"))
	q.arm(t)
	item, err := q.Remove(q.ctx)
	q.got(t, item, err)
}
