// Package queue checks what becomes of the items of a queue (rule 9).
package queue

import (
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

// Delivery promises of a queue, as history.Promises.Delivery.
const (
	AtLeastOnce = "at-least-once"
	AtMostOnce  = "at-most-once"
)

// Verdict is the result of a check.
type Verdict = finding.Verdict

type evidence = finding.Evidence

func pass(reasons ...string) Verdict    { return Verdict{Result: finding.Pass, Reasons: reasons} }
func unknown(reasons ...string) Verdict { return Verdict{Result: finding.Unknown, Reasons: reasons} }
func notJudged(reasons ...string) Verdict {
	return Verdict{Result: finding.NotJudged, Reasons: reasons}
}

// Commit adds the next commit.
func (q *Items) Commit(c *history.Commit) { q.commits.commit(c) }

// Available returns the item that certainly was put, and not taken yet; nil if there is none with that ID, or
// its put is not recorded.
func (q *Items) Available(id string) *Item {
	if i := q.open[id]; i != nil && i.Put > 0 && !i.putUncertain && i.taken == 0 {
		return i
	}
	return nil
}

// Oldest returns the item that was put first of those that are certainly in the queue, or nil.
func (q *Items) Oldest() (oldest *Item) {
	for _, i := range q.open {
		if i.Put > 0 && !i.putUncertain && i.taken == 0 && !i.maybeTaken && (oldest == nil || i.PutAt < oldest.PutAt) {
			oldest = i
		}
	}
	return oldest
}

// Remains reports whether the item is in the queue, or a client should have handed it over.
func (q *Items) Remains(i *Item) bool {
	return i.standing > 0 && (!i.moved || q.movedUndelivered(i))
}

// HandedOut reports whether an item was handed out and still exists: at-least-once queues may
// remove it later, and some keep completed items in another folder. Without commits the two cannot
// be distinguished.
func (q *Items) HandedOut(x history.SnapshotItem) bool {
	if q.commits == nil {
		return q.delivery == AtLeastOnce
	}
	i := q.commits.paths[x.Path]
	if i == nil || i.Put == 0 { // not an item if items are recognizable, such as a claim of a consumer
		return q.commits.linked
	}
	return i.taken > 0 || i.maybeTaken || i.moved && !q.movedUndelivered(i)
}
