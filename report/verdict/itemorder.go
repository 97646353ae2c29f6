package verdict

import (
	"fmt"
	"path"
	"slices"

	"github.com/zkbench/zkbench/report/history"
)

// itemOrder checks the order in which items leave a queue by the commits: an item whose node is
// removed is the oldest existing one. Commits are totally ordered. An older item that another
// consumer has claimed by a node of its own, named after the item's, may be overtaken.
//
// Only an item's first node has a position, among its siblings, and only its removal by the client
// that took the item counts: a put that is withdrawn overtakes none. If an item is handed over
// first and removed when its work is done, removals do not show the order of hand-overs. A node
// whose put has not been recorded yet may not be an item's: items that overtook it are kept until
// that is known.
type itemOrder struct {
	lines  map[string]*itemLine // by parent
	judged int                  // items that have left
	handed int                  // handed over before they left
	count  int                  // overtakings
	found  []overtaking         // the first of them
	passed []*item              // that may not be items
}

// itemLine is the nodes of items below one parent.
type itemLine struct {
	line     []*item // in the order of their transactions, including clients that have left
	standing int
}

// overtaking is an item that was taken while an older one existed.
type overtaking struct {
	young, old *item
	record     int // of the take
}

func (o *itemOrder) joined(i *item) {
	l := o.lines[path.Dir(i.path)]
	if l == nil {
		l = &itemLine{}
		o.lines[path.Dir(i.path)] = l
	}
	if len(l.line) > 2*l.standing+64 {
		l.line = slices.DeleteFunc(l.line, func(k *item) bool { return k.left })
	}
	l.line = append(l.line, i)
	l.standing++
	i.in = l
}

// leaves records the removal of an item's first node. claimed reports whether an item is claimed by
// another client.
func (o *itemOrder) leaves(i *item, claimed func(old *item, session int64) bool) {
	l := i.in
	i.left = true
	l.standing--
	for len(l.line) > 0 && l.line[0].left {
		l.line = l.line[1:]
	}
	if i.taken > 0 {
		o.handed++
		return
	}
	o.judged++
	for _, old := range l.line {
		if old.created >= i.created || i.passed != nil && i.passed.put > 0 {
			return
		}
		if !old.left && !claimed(old, i.by.session) {
			i.passed = old
		}
	}
}

// overtook records that an item which has overtaken an older one was taken. remover is the client
// that removed its node.
func (o *itemOrder) overtook(i *item, s *history.Sample, record, remover int) {
	old := i.passed
	i.passed = nil
	if remover >= 0 && remover != s.Client {
		return
	}
	if old.put > 0 {
		o.add(1, overtaking{i, old, record})
		return
	}
	if old.passers++; old.passers == 1 {
		old.passer = &overtaking{i, old, record}
		o.passed = append(o.passed, old)
	}
}

func (o *itemOrder) add(n int, first overtaking) {
	if o.count += n; len(o.found) < evidenceLimit {
		o.found = append(o.found, first)
	}
}

func (o *itemOrder) unordered() string {
	return fmt.Sprintf("%d items were handed over before they were removed: the commits do not tell in which order", o.handed)
}

func (o *itemOrder) verdict(incomplete string) Verdict {
	for _, old := range o.passed {
		if old.put > 0 {
			o.add(old.passers, *old.passer)
		}
	}
	switch {
	case incomplete != "": // after an unread removal an item seems to exist
		return unknown(incomplete)
	case o.judged < 2 && o.count == 0 && o.handed > 0:
		return notJudged(o.unordered())
	case o.judged < 2 && o.count == 0:
		return unknown(fmt.Sprintf("%d items were put and taken with certainty: an order needs two", o.judged))
	case o.count == 0:
		notes := []string{fmt.Sprintf("%d items left in the order in which they came, by the servers' commits", o.judged)}
		if o.handed > 0 {
			notes = append(notes, o.unordered())
		}
		return pass(notes...)
	}
	var broken evidence
	for _, f := range o.found {
		young, old := f.young, f.old
		broken.add([]int{f.record, old.put},
			"item %q (node %s, created by zxid %#x) was removed at zxid %#x, and taken (record %d), although the older item %q (node %s, created by zxid %#x) was available and unclaimed",
			young.id, young.path, uint64(young.created), uint64(young.gone), f.record, old.id, old.path, uint64(old.created))
	}
	broken.count = o.count
	return broken.fail("overtakings")
}
