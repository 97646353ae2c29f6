package txnlog

import (
	"maps"
	"slices"
)

// ephemerals are the ephemeral nodes that exist after the entries so far. Servers before 3.6, and later
// servers with zookeeper.closeSessionTxn.enabled=false, do not log which nodes the end of a session
// removed: its ephemeral nodes.
type ephemerals struct {
	owner map[string]int64
	of    map[int64]map[string]bool
}

func newEphemerals() ephemerals {
	return ephemerals{owner: map[string]int64{}, of: map[int64]map[string]bool{}}
}

// pass processes an entry. It adds the removed nodes to a CloseSession that does not list them.
func (s ephemerals) pass(e *Entry) {
	ops := []Op{e.Op}
	if e.Type == Multi {
		ops = e.Parts
	}
	for _, o := range ops {
		switch o.Type {
		case Create:
			if o.Ephemeral {
				s.add(o.Path, e.Session)
			}
		case Delete:
			s.remove(o.Path)
		case CloseSession:
			if !e.Listed {
				e.Removed = slices.Sorted(maps.Keys(s.of[e.Session]))
			}
			for _, path := range e.Removed {
				s.remove(path)
			}
		}
	}
}

func (s ephemerals) add(path string, session int64) {
	s.owner[path] = session
	if s.of[session] == nil {
		s.of[session] = map[string]bool{}
	}
	s.of[session][path] = true
}

func (s ephemerals) remove(path string) {
	session, ok := s.owner[path]
	if !ok {
		return
	}
	delete(s.owner, path)
	delete(s.of[session], path)
	if len(s.of[session]) == 0 {
		delete(s.of, session)
	}
}
