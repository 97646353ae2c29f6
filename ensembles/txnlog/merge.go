package txnlog

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// Summary reports how complete a merged log is.
type Summary struct {
	Entries int
	Last    int64 // zxid of the last entry
	Gaps    []Gap
	// Uncommitted counts entries that were omitted: a member logged them and was isolated before
	// the ensemble agreed.
	Uncommitted    int
	TruncatedFiles int // files that ended inside an entry
	Cut            int // logs whose last file ended inside an entry without the zeros that a server writes in advance
	Unrelated      int // logs none of whose entries was delivered
	Unknown        int // entries that no log had in a form that was understood to the end
}

// Gap is a range of zxids of one epoch that no log contains.
type Gap struct{ From, To int64 }

func (g Gap) String() string {
	return fmt.Sprintf("epoch %d: %d transactions, %#x to %#x", epoch(g.From), g.To-g.From+1, g.From, g.To)
}

// Merge calls each, in order, for the committed entries of an ensemble with zxids above after and up to
// upTo. Epochs begin after transaction number first, normally 0. logs are the logs of the voting members,
// each a list of files; the leader's log is first. upTo is the last zxid that any member has applied, which
// is committed; 0 for all entries.
//
// Entries that the leader's log lacks are taken from the other logs. Zxids of an epoch are consecutive,
// so missing zxids are a [Gap], except at the end of an earlier epoch, whose last zxid is known only
// from a log that contains it. Merge returns an error if logs disagree, or if a log is damaged before
// its end.
func Merge(first uint32, after, upTo int64, each func(Entry) error, logs ...[]io.Reader) (Summary, error) {
	if upTo > 0 && upTo <= after {
		return Summary{Last: after}, nil
	}
	m := merger{first: int64(first) + 1, upTo: upTo, each: each, existing: ephemerals{}, s: Summary{Last: after}}
	for _, files := range logs {
		m.logs = append(m.logs, &head{r: NewReader(after, files...), last: after})
	}
	err := m.run()
	for _, l := range m.logs {
		m.s.TruncatedFiles += l.r.TruncatedFiles
		m.s.Unknown += l.r.Unknown
		m.s.Cut += l.r.cut
		if !l.delivered && l.r.last > after {
			m.s.Unrelated++
		}
	}
	return m.s, err
}

type head struct {
	r         *Reader
	last      int64 // zxid of the previous entry
	next      Entry
	ended     bool
	delivered bool // one of its entries
}

type merger struct {
	first    int64 // number of an epoch's first transaction
	upTo     int64
	each     func(Entry) error
	logs     []*head // the leader's first
	current  []*head // logs whose next entry is the current entry
	pending  []pendingEntry
	existing ephemerals
	s        Summary
}

type pendingEntry struct {
	entry Entry
	by    []*head
}

func (m *merger) run() error {
	if err := m.advance(m.logs); err != nil {
		return err
	}
	for {
		e, err := m.lowest()
		if err != nil {
			return err
		}
		over := len(m.current) == 0 || m.upTo > 0 && e.Zxid > m.upTo
		if len(m.pending) > 0 && (over || epoch(e.Zxid) > epoch(m.pending[0].entry.Zxid)) {
			if err := m.decide(); err != nil {
				return err
			}
		}
		if over {
			break
		}
		if err := m.take(e); err != nil {
			return err
		}
		// Later entries may be incomplete and are not read.
		if e.Zxid == m.upTo {
			break
		}
		if err := m.advance(m.current); err != nil {
			return err
		}
	}
	if m.upTo > m.s.Last {
		m.gap(m.upTo + 1)
	}
	return nil
}

func (m *merger) advance(logs []*head) (err error) {
	for _, l := range logs {
		if l.next.Zxid != 0 {
			l.last = l.next.Zxid
		}
		l.next, err = l.r.Next()
		if err == io.EOF {
			l.ended, err = true, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lowest returns the next entry with the lowest zxid. m.current becomes the logs that contain it, none at the end.
func (m *merger) lowest() (e Entry, err error) {
	m.current = m.current[:0]
	for _, l := range m.logs {
		switch {
		case l.ended || len(m.current) > 0 && l.next.Zxid > e.Zxid:
		case len(m.current) == 0 || l.next.Zxid < e.Zxid:
			e, m.current = l.next, append(m.current[:0], l)
		case !same(&e, &l.next):
			return e, fmt.Errorf("the members' logs disagree on transaction %#x: %v %s by session %#x, and %v %s by session %#x",
				e.Zxid, e.Type, e.Path, e.Session, l.next.Type, l.next.Path, l.next.Session)
		default:
			m.current = append(m.current, l)
		}
	}
	return e, nil
}

// take delivers an entry if it is committed, or keeps it pending until this can be decided.
func (m *merger) take(e Entry) error {
	if m.committed(e.Zxid) {
		return m.deliver(e, m.current)
	}
	m.pending = append(m.pending, pendingEntry{e, slices.Clone(m.current)})
	return nil
}

// committed reports whether the next entry is known to be committed: the leader's log contains it or a
// later entry of its epoch, or its epoch is the epoch of upTo.
func (m *merger) committed(zxid int64) bool {
	leader := m.logs[0]
	return m.current[0] == leader ||
		!leader.ended && epoch(leader.next.Zxid) == epoch(zxid) ||
		m.upTo > 0 && epoch(zxid) == epoch(m.upTo)
}

// decide delivers the committed entries among the pending entries, which are of one epoch. An entry that
// a majority has logged was committed. An entry that fewer logs contain was not, if the leader's log
// continues from the previous entry directly with a new epoch: an isolated leader keeps entries in its
// log that were never committed, even when it follows again. Otherwise the leader received the entry in
// a snapshot, if a log that contains it continues in a later epoch.
func (m *merger) decide() error {
	leaderContinues := m.logs[0].entersEpochAfter(m.pending[0].entry.Zxid, m.first)
	for _, p := range m.pending {
		continues := slices.ContainsFunc(p.by, func(l *head) bool { return !l.ended })
		if 2*len(p.by) <= len(m.logs) && (leaderContinues || !continues) {
			m.s.Uncommitted++
			continue
		}
		if err := m.deliver(p.entry, p.by); err != nil {
			return err
		}
	}
	m.pending = nil
	return nil
}

// entersEpochAfter reports whether the entry before zxid is directly followed by a later epoch's first entry.
func (l *head) entersEpochAfter(zxid, first int64) bool {
	return !l.ended && l.last == zxid-1 && l.next.Zxid == epoch(l.next.Zxid)<<32+first
}

func (m *merger) deliver(e Entry, by []*head) error {
	for _, l := range by {
		l.delivered = true
	}
	m.gap(e.Zxid)
	m.s.Last = e.Zxid
	m.s.Entries++
	m.existing.apply(&e)
	return m.each(e)
}

func (m *merger) gap(next int64) {
	from := max(m.s.Last+1, epoch(next)<<32+m.first)
	if from < next {
		m.s.Gaps = append(m.s.Gaps, Gap{From: from, To: next - 1})
	}
}

// same reports whether two members' entries are the same transaction. Fields that only some
// versions of ZooKeeper write are not compared.
func same(a, b *Entry) bool {
	return a.Session == b.Session && a.Cxid == b.Cxid && a.Time.Equal(b.Time) && a.Timeout == b.Timeout &&
		sameOp(a.Op, b.Op) && slices.EqualFunc(a.Parts, b.Parts, sameOp) &&
		(!a.Listed || !b.Listed || slices.Equal(a.Removed, b.Removed))
}

func sameOp(a, b Op) bool {
	return a.Type == b.Type && a.Path == b.Path && a.Ephemeral == b.Ephemeral && bytes.Equal(a.Data, b.Data) &&
		a.Size == b.Size && a.Version == b.Version && a.Err == b.Err
}

// ephemerals are the ephemeral nodes that exist after the entries so far, with the sessions that own them.
// Servers before 3.6, and later servers with zookeeper.closeSessionTxn.enabled=false, do not log which nodes the
// end of a session removed: its ephemeral nodes.
type ephemerals map[string]int64

// apply processes an entry. It adds the removed nodes to a CloseSession that does not list them.
func (s ephemerals) apply(e *Entry) {
	for _, o := range e.Ops() {
		switch o.Type {
		case Create:
			if o.Ephemeral {
				s[o.Path] = e.Session
			}
		case Delete:
			delete(s, o.Path)
		case CloseSession:
			if !e.Listed {
				e.Removed = s.of(e.Session)
			}
			for _, path := range e.Removed {
				delete(s, path)
			}
		}
	}
}

func (s ephemerals) of(session int64) (paths []string) {
	for path, owner := range s {
		if owner == session {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
