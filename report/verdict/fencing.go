package verdict

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const Fencing = "fencing"

func init() {
	register(Guarantee{
		Name: Fencing, Rule: 5, Concerns: granting,
		Promise: "The tokens (czxid of the grant's node) that the protected resource accepts never go down.",
		Harm:    "A holder of the past overwrites what its successor has written.",
		Help:    "the fenced resource took a token lower than one that it had seen",
		check:   newFencing,
	})
}

// fences judges rule 5: the fenced resource accepts writes with tokens that
// never go down. The order of the writes is that of the versions which they
// made, so no clock is needed. There is one such resource in a trial.
//
// Replies may come in another order than the versions. The last writes are kept
// in order of version, so that a late one finds its place.
type fences struct {
	recent   []accepted
	forgot   accepted // the last one that left recent
	accepted int
	refused  int
	open     int // writes of unknown outcome: they may be anywhere, and prove nothing
	unplaced int // accepted without a version, or too late to compare
	broken   evidence
}

type accepted struct {
	version, token int64
	record         int
	high           int64 // the highest token up to and with this write
	highRecord     int
}

// keepWrites is how many writes a late reply can be compared with.
const keepWrites = 1 << 12

func newFencing(*inputs) checker {
	f := &fences{}
	return checker{record: f.record, finish: f.finish}
}

func (f *fences) record(n history.Numbered) {
	s, ok := n.Record.(*history.Sample)
	if !ok || s.Op != history.Write {
		return
	}
	switch s.Outcome {
	case history.Failed:
		f.refused++
	case history.Unknown:
		f.open++
	case history.OK:
		f.accepted++
		if s.Version == 0 || s.Token == 0 {
			f.unplaced++
			return
		}
		f.accept(accepted{version: s.Version, token: s.Token, record: n.N})
	}
}

func (f *fences) accept(w accepted) {
	if w.version < f.forgot.version {
		f.unplaced++
		return
	}
	i := len(f.recent)
	if i > 0 && f.recent[i-1].version >= w.version {
		i = sort.Search(i, func(i int) bool { return f.recent[i].version >= w.version })
	}
	before := f.forgot
	if i > 0 {
		before = f.recent[i-1]
	}
	w.high, w.highRecord = before.high, before.highRecord
	if w.token < before.high {
		f.stale(w)
	} else {
		w.high, w.highRecord = w.token, w.record
	}
	f.recent = slices.Insert(f.recent, i, w)
	f.raise(i)
	if len(f.recent) == 2*keepWrites {
		f.forgot = f.recent[keepWrites-1]
		f.recent = append(f.recent[:0], f.recent[keepWrites:]...)
	}
}

// raise corrects the writes after a late one, which nobody could compare with it.
func (f *fences) raise(i int) {
	w := f.recent[i]
	for j := i + 1; j < len(f.recent) && f.recent[j].high < w.high; j++ {
		later := &f.recent[j]
		later.high, later.highRecord = w.high, w.highRecord
		f.stale(*later)
	}
}

// stale reports a write that was accepted after one with a higher token.
func (f *fences) stale(w accepted) {
	f.broken.add([]int{w.highRecord, w.record},
		"token %d was accepted as version %d (record %d) after token %d (record %d): the write was stale",
		w.token, w.version, w.record, w.high, w.highRecord)
}

func (f *fences) finish(time.Duration) Verdict {
	about := fmt.Sprintf("%d writes accepted, %d refused as stale, %d of unknown outcome", f.accepted, f.refused, f.open)
	switch {
	case f.broken.count > 0:
		v := f.broken.fail("stale writes accepted")
		v.Reasons = append(v.Reasons, about)
		return v
	case f.accepted == 0:
		return unknown("the fenced resource accepted no write: " + about)
	case f.unplaced > 0:
		return unknown(fmt.Sprintf("%d accepted writes have no version or token, or came too late to be compared: %s", f.unplaced, about))
	}
	return pass(about)
}
