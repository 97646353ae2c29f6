package history

import "testing"

func TestPathSplit_assignsEveryRecordToItsPath(t *testing.T) {
	const all = -1
	s := NewPathSplit(Header{Paths: 5})
	for _, row := range []struct {
		name string
		r    Record
		want int
	}{
		{"a session's client", &Session{Event: Opened, Client: 8, Session: 80}, 3},
		{"another", &Session{Event: Opened, Client: 4, Session: 40}, 4},
		{"an operation's client", &Sample{Client: 11}, 1},
		{"the node of a commit", &Commit{Op: CommitCreate, Session: 80, Path: "/zkbench-1/path-0002-trial/line/path-0003/n-0000000007"}, 3},
		{"the path's own node", &Commit{Op: CommitCreate, Session: 1, Path: "/r/line/path-0002"}, 2},
		{"a node that another session deletes", &Commit{Op: CommitDelete, Session: 80, Path: "/r/line/path-0001/n-1"}, 1},
		{"the session of a commit without a path", &Commit{Op: CommitClose, Session: 80, Removed: []string{"/r/line/path-0003/n-2"}}, 3},
		{"a node elsewhere", &Commit{Op: CommitCreate, Session: 40, Path: "/elsewhere/path-0003"}, 4},
		{"no known session", &Commit{Op: CommitOpen, Session: 99}, all},
		{"no such path", &Commit{Op: CommitCreate, Session: 99, Path: "/r/line/path-0005/n-1"}, all},
		{"a snapshot of a path", &Snapshot{Path: "/r/line/path-0004"}, 4},
		{"the fault of a client", &Window{Client: 7}, 2},
		{"the fault of a member", &Window{Client: -1}, all},
		{"the fault of a process with several clients", &Window{Client: 7, Served: []int{8}}, all},
		{"a phase", &PhaseStart{}, all},
		{"the end of the commits", &CommitsEnd{}, all},
	} {
		if got := s.PathOf(row.r); got != row.want {
			t.Errorf("%s: path %d, want %d", row.name, got, row.want)
		}
	}
}

func TestPart_hasTheClientsAndTheFaultsOfItsPath(t *testing.T) {
	h := Of(Header{Paths: 3, Cell: Cell{Clients: 8}}, &Window{Client: 3}, &Window{Client: 4}, &Window{Client: -1})
	for i, want := range []struct{ clients, faults int }{{3, 2}, {3, 2}, {2, 1}} {
		p := h.Part(i)
		if p.Header.Clients != want.clients || len(p.Faults) != want.faults {
			t.Errorf("path %d has %d clients and the faults %v, want %+v", i, p.Header.Clients, p.Faults, want)
		}
	}
	if len(h.Faults) != 3 || h.Header.Clients != 8 || h.Header.OnPath(2, 4) != 1 || h.Header.OnPath(0, 0) != 0 {
		t.Errorf("the history itself has changed: %+v", h)
	}
}
