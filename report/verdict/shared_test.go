package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// sharing is a history of a lock that several may hold, with commits: one client a node, whose
// session is 100 more.
type sharing struct {
	header  history.Header
	records []history.Record
	zxid    int64
	held    map[int]*history.Sample
}

func newSharing(recipe string, permits, clients int) *sharing {
	s := &sharing{header: history.Header{Trial: "story", Recipe: recipe, Permits: permits,
		Promises: history.Promises{Exclusive: true, FIFO: true, Writers: true, Events: true}}, zxid: 10, held: map[int]*history.Sample{}}
	for i := range clients {
		s.records = append(s.records, opened(i, int64(100+i)))
	}
	return s
}

// at adds what happens at that second: join, grant, release or expire, of a client and its mode.
func (s *sharing) at(second int, what string, client int, mode string) *sharing {
	s.zxid++
	now := time.Duration(second) * time.Second
	session := int64(100 + client)
	switch what {
	case "join":
		s.held[client] = &history.Sample{Client: client, Op: history.Acquire, Mode: mode, Call: now, Outcome: history.OK,
			Token: s.zxid, Session: session, Path: fmt.Sprintf("/l/x-%s-%010d", mode, s.zxid)}
		s.records = append(s.records, &history.Commit{Op: history.CommitCreate, Session: session, Zxid: s.zxid, Cxid: 1, Path: s.held[client].Path, Ephemeral: true})
	case "grant":
		grant := *s.held[client]
		grant.Return, grant.Zxid = now, s.zxid
		s.records = append(s.records, &grant)
	case "release":
		over := *s.held[client]
		over.Op, over.Mode, over.Call, over.Return, over.Zxid = history.Release, "", now, now, s.zxid
		s.records = append(s.records, &history.Commit{Op: history.CommitDelete, Session: session, Zxid: s.zxid, Cxid: 2, Path: over.Path}, &over)
	case "expire":
		s.records = append(s.records, &history.Commit{Op: history.CommitClose, Session: session, Zxid: s.zxid, Removed: []string{s.held[client].Path}})
	case "wait": // until then
		w := s.held[client]
		s.records = append(s.records, &history.Waiting{At: now, Client: client, Op: history.Acquire, Mode: w.Mode, Call: w.Call})
	}
	return s
}

// renamed changes the paths of nodes in records.
func renamed(records list, path func(string) string) list {
	for _, r := range records {
		switch r := r.(type) {
		case *history.Commit:
			r.Path = path(r.Path)
			for i, p := range r.Removed {
				r.Removed[i] = path(p)
			}
		case *history.Sample:
			r.Path = path(r.Path)
		}
	}
	return records
}

// withShortID returns a path whose name begins with a short ID that differs from node to node.
func withShortID(path string) string {
	n := len(path) - 10
	if n < 0 {
		return path
	}
	return "/l/" + string('a'+path[n+9]%16) + "F3_q9zTab-lease-" + path[n:]
}

// withoutNumber returns a path whose name is an ID without a number.
func withoutNumber(path string) string {
	return path[:len(path)-10] + path[len(path)-8:] + "e4bfd9345fb04ce79fcad72e"
}

func (s *sharing) judge(t *testing.T, guarantee, result, reason string) {
	t.Helper()
	expect(t, history.Of(s.header, append(s.records, whole())...), guarantee, result, reason)
}

func TestSemaphore(t *testing.T) {
	two := func() *sharing {
		return newSharing(facts.Semaphore, 2, 4).at(1, "join", 0, "").at(1, "grant", 0, "").at(2, "join", 1, "").at(2, "grant", 1, "").at(3, "join", 2, "")
	}
	sound := two().at(4, "release", 1, "").at(4, "grant", 2, "").at(5, "release", 0, "").at(5, "release", 2, "")
	sound.judge(t, MutualExclusion, Pass, "")
	sound.judge(t, FIFO, Pass, "")
	sound.judge(t, ClaimValidity, Pass, "all 3 grants")
	sound.judge(t, Progress, Pass, "")
	sound.judge(t, Fencing, "", "")

	few := two()
	for clients, result := range map[int]string{3: Pass, 2: NotJudged, 1: NotJudged} {
		few.header.Clients = clients
		few.judge(t, MutualExclusion, result, "")
		few.judge(t, FIFO, result, "")
	}
	alone := newMeeting(1).meet(1)
	alone.judge(t, NoEarlyPassage, NotJudged, "none had to wait")

	single := sharing{header: history.Header{Trial: "story", Recipe: Lock, Promises: fair, Cell: history.Cell{Clients: 1}}, held: map[int]*history.Sample{}}
	single.at(1, "join", 0, "").at(1, "grant", 0, "").at(2, "release", 0, "").judge(t, MutualExclusion, NotJudged, "1 client could not exceed")

	third := two().at(4, "grant", 2, "").at(5, "release", 0, "").at(5, "release", 1, "").at(5, "release", 2, "")
	third.judge(t, MutualExclusion, Fail, "3 clients held a grant at once, with only 2 permits (the earlier clients: 0, 1)")
	third.judge(t, FIFO, Fail, "client 2 was granted")

	expired := two().at(4, "expire", 0, "").at(4, "grant", 2, "").at(5, "release", 1, "").at(5, "release", 2, "")
	expired.judge(t, MutualExclusion, Pass, "1 exposure")
	expired.at(6, "join", 3, "").at(6, "grant", 3, "").judge(t, MutualExclusion, Pass, "1 exposure")

	// Client 2 takes the permit that client 1 released, and its acquire returns after client 1 took that of client 0.
	returnsLate := func(what string) *sharing {
		s := two().at(4, "release", 1, "").at(4, "grant", 2, "")
		late := s.records[len(s.records)-1].(*history.Sample)
		late.Return = 7 * time.Second
		s.records = s.records[:len(s.records)-1]
		s.at(5, what, 0, "").at(6, "join", 1, "").at(6, "grant", 1, "")
		s.records = append(s.records, late)
		return s.at(8, "release", 1, "").at(8, "release", 2, "")
	}
	returnsLate("expire").judge(t, MutualExclusion, Pass, "1 exposure")
	returnsLate("wait").judge(t, MutualExclusion, Fail, "existed when client 1 was granted")

	for _, path := range []func(string) string{strings.Clone, withShortID, withoutNumber} {
		overtaken := two().at(4, "join", 3, "").at(5, "release", 0, "").at(5, "grant", 3, "").at(6, "release", 1, "").at(6, "grant", 2, "")
		renamed(overtaken.records, path)
		overtaken.judge(t, FIFO, Fail, "client 3 was granted")
		overtaken.judge(t, MutualExclusion, Pass, "")
		inOrder := two().at(4, "join", 3, "").at(5, "release", 0, "").at(5, "grant", 2, "").at(6, "release", 1, "").at(6, "grant", 3, "")
		renamed(inOrder.records, path)
		inOrder.judge(t, FIFO, Pass, "")
	}

	// The names are the clients' own words: they do not show which nodes are permits.
	word := func(path string) string {
		return "/l/" + []string{"alice", "deadbeef1", "bob7", "XX"}[(path[len(path)-1]-'0')%4] + path[max(0, len(path)-10):]
	}
	overtaken := two().at(4, "join", 3, "").at(5, "release", 0, "").at(5, "grant", 3, "").at(6, "release", 1, "").at(6, "grant", 2, "")
	renamed(overtaken.records, word)
	overtaken.judge(t, FIFO, Unknown, "their names do not show whether they are claims on the same lock")
	inOrder := two().at(4, "join", 3, "").at(5, "release", 0, "").at(5, "grant", 2, "").at(6, "release", 1, "").at(6, "grant", 3, "")
	renamed(inOrder.records, word)
	inOrder.judge(t, FIFO, Pass, "")

	// Permits whose nodes are created at the grant have no order to judge.
	late := newSharing(facts.Semaphore, 1, 2)
	for i := range 20 {
		c := i % 2
		late.at(i, "join", c, "").at(i, "grant", c, "")
		late.records[len(late.records)-1].(*history.Sample).Call = time.Duration(max(i-1, 0)) * time.Second // it waited without a node
		late.at(i+1, "release", c, "")
	}
	late.judge(t, FIFO, Unknown, "nodes are created at the grant")

	// One of the permits is never used, or only at first; if two are, the waits are those of a line.
	churn := func(permits, used int, hold, begin int) *sharing {
		s := newSharing(facts.Semaphore, permits, 7)
		for c := range 6 {
			s.at(1, "join", c, "")
		}
		for i := range 12 {
			at := begin + i/used*hold
			s.at(at, "grant", i%6, "").at(at+hold, "release", i%6, "").at(at+hold, "join", i%6, "")
		}
		return s
	}
	churn(2, 1, 3, 1).judge(t, Progress, Fail, "fewer than 2 clients held, without a fault, while others waited: the times without a grant, the last from 7s to 10s while client 3 waited (record 14), add up to 9s, more than the limit of 8s")
	churn(3, 2, 3, 1).judge(t, Progress, Fail, "fewer than 3 clients held")
	churn(2, 2, 30, 1).judge(t, Progress, Pass, "")
	churn(1, 1, 3, 1).judge(t, Progress, Pass, "")
	churn(2, 1, 2, 1).judge(t, Progress, Pass, "") // hand-offs may take that long
	faulty := churn(2, 1, 3, 1)
	faulty.records = append(faulty.records, &history.Window{Fault: "partition", Client: -1, Start: second, End: 30 * second, Proof: "seen"})
	faulty.judge(t, Progress, Pass, "faults were active throughout")

	dead := newSharing(facts.Semaphore, 2, 7).at(1, "join", 6, "").at(1, "grant", 6, "") // the servers may not know that yet
	dead.records = append(dead.records, &history.Session{Event: history.Lost, Client: 6, Session: 106, At: second})
	dead.records = append(dead.records, churn(2, 1, 3, 1).records[7:26]...)
	dead.judge(t, Progress, Pass, "")

	forgotten := two().at(4, "release", 1, "").at(29, "wait", 2, "").at(30, "release", 0, "")
	forgotten.judge(t, Progress, Fail, "a permit was free from 4s")
}

func TestRWLock(t *testing.T) {
	readers := func() *sharing {
		return newSharing(facts.RWLock, 0, 4).at(1, "join", 0, "read").at(1, "grant", 0, "").at(2, "join", 1, "read").at(2, "grant", 1, "").at(3, "join", 2, "write")
	}
	sound := readers().at(4, "join", 3, "read").at(5, "release", 0, "").at(5, "release", 1, "").at(5, "grant", 2, "").at(6, "release", 2, "").at(6, "grant", 3, "")
	for _, guarantee := range []string{MutualExclusion, FIFO, ClaimValidity, Progress, WriterProgress} {
		sound.judge(t, guarantee, Pass, "")
	}

	writer := readers().at(5, "release", 0, "").at(5, "grant", 2, "").at(6, "release", 1, "").at(7, "release", 2, "")
	writer.judge(t, MutualExclusion, Fail, "clients 1 (token 13) and 2 (token 15) both believed")
	writer.judge(t, FIFO, Fail, "client 2 was granted")

	// A reader that comes after a waiting writer may hold with the readers before it, but not first.
	passing := readers().at(4, "join", 3, "read").at(4, "grant", 3, "").at(5, "release", 0, "").at(5, "release", 1, "").at(5, "release", 3, "").at(6, "grant", 2, "").at(7, "release", 2, "")
	passing.judge(t, MutualExclusion, Pass, "")
	passing.judge(t, FIFO, Fail, "client 3 was granted")
	passing.judge(t, WriterProgress, Pass, "")

	starved := readers()
	for i := range 20 {
		starved.at(4+i, "release", i%2, "").at(4+i, "join", i%2, "read").at(4+i, "grant", i%2, "")
	}
	starved.at(30, "wait", 2, "").judge(t, WriterProgress, Fail, "client 2 waited to write")
	// A writer waits for the readers before it as long as they hold, and not for a reader that comes later.
	readers().at(20, "release", 0, "").at(21, "release", 1, "").at(22, "grant", 2, "").judge(t, WriterProgress, Pass, "1 grant for writing")
	readers().at(4, "join", 3, "read").at(5, "grant", 3, "").at(6, "release", 0, "").at(6, "release", 1, "").at(20, "release", 3, "").at(20, "grant", 2, "").
		judge(t, WriterProgress, Pass, "") // its call came so soon that its node may be the older one
	readers().at(6, "join", 3, "read").at(6, "grant", 3, "").at(6, "release", 0, "").at(6, "release", 1, "").at(20, "release", 3, "").at(20, "grant", 2, "").
		judge(t, WriterProgress, Fail, "client 2 waited to write, from 3s to 20s (record 11), although for 14s, the last time from 6s to 20s, without a fault, neither a writer nor an earlier reader held")
	behind := newSharing(facts.RWLock, 0, 3).at(1, "join", 0, "write").at(1, "grant", 0, "").at(2, "join", 1, "read").at(3, "join", 2, "write").
		at(4, "release", 0, "").at(4, "grant", 1, "").at(20, "release", 1, "").at(20, "grant", 2, "")
	behind.judge(t, WriterProgress, Pass, "")
	readers().at(5, "release", 0, "").at(5, "release", 1, "").at(9, "wait", 2, "").judge(t, WriterProgress, Unknown, "but none was granted")
	early := func(end int) *sharing {
		return readers().at(5, "release", 0, "").at(5, "release", 1, "").at(6, "grant", 2, "").at(7, "release", 2, "").at(7, "join", 2, "write").
			at(10, "join", 3, "read").at(10, "grant", 3, "").at(end, "wait", 2, "")
	}
	early(11).judge(t, WriterProgress, Pass, "1 grant for writing")
	early(12).judge(t, WriterProgress, Unknown, "for 5s, without a fault, neither a writer nor an earlier reader had held the lock: the phase ended too early to decide (the limit is 8s)")
	granted := early(12).at(12, "grant", 2, "") // after the phase
	granted.records = slices.DeleteFunc(granted.records, func(r history.Record) bool { _, waits := r.(*history.Waiting); return waits })
	granted.judge(t, WriterProgress, Pass, "2 grants for writing")
	// Writers are granted now and then, but one of them waits.
	rare := readers().at(5, "release", 0, "").at(5, "release", 1, "")
	for at := 8; at < 20; at += 3 {
		rare.at(at, "join", 3, "write").at(at, "grant", 3, "").at(at, "release", 3, "")
	}
	rare.at(13, "wait", 2, "").judge(t, WriterProgress, Unknown, "for 6s, without a fault")
	rare.at(15, "wait", 2, "").judge(t, WriterProgress, Fail, "although for 9s, the last time from 11s to 14s")
	cut := readers().at(30, "wait", 2, "")
	s := NewSweep(history.Of(cut.header, append(cut.records, whole())...))
	for n := range history.Of(cut.header, cut.records...).Records {
		s.Add(n)
	}
	for _, v := range s.Close(history.ErrTruncated) { // the releases of the readers may be missing
		if v.Result == Fail {
			t.Errorf("of a history that is cut short: %+v", v)
		}
	}
	starved.judge(t, FIFO, Unknown, "waited in a mode in which none was granted")
	starved.judge(t, Fencing, Unknown, "nothing was granted exclusively")
	readers().at(5, "wait", 2, "").judge(t, FIFO, Pass, "") // it may not have joined
	starved.header.Promises.Writers = false
	starved.judge(t, WriterProgress, NotPromised, "")

	folders := readers().at(4, "join", 3, "read").at(4, "grant", 3, "").at(5, "release", 0, "").at(5, "release", 1, "").at(5, "release", 3, "").at(6, "grant", 2, "").at(7, "release", 2, "")
	renamed(folders.records, func(path string) string { return strings.Replace(path, "/l/x-write", "/l/writers/x-write", 1) })
	folders.judge(t, FIFO, Fail, "client 3 was granted")
	renamed(folders.records, withoutNumber)
	folders.judge(t, FIFO, Fail, "client 3 was granted")

	// The names are the clients' own words: a node of a client that was granted only to write may be a reader's.
	words := newSharing(facts.RWLock, 0, 2).at(1, "join", 0, "write").at(1, "grant", 0, "").at(2, "release", 0, "").
		at(3, "join", 0, "read").at(4, "join", 1, "read").at(5, "grant", 1, "").at(6, "release", 1, "").at(6, "wait", 0, "")
	renamed(words.records, func(path string) string {
		return "/l/" + map[bool]string{true: "bob", false: "aliceXX"}[strings.HasSuffix(path, "15")] + path[max(0, len(path)-10):]
	})
	words.judge(t, FIFO, Pass, "")

	// Clients stand in one line; a reader whose turn it is exchanges its node for one in a folder of readers.
	// The deletion of the first node may take effect after the grant, but not after the release.
	for deletedAfter, fifo := range map[string]string{"join": Pass, "grant": Pass, "expire": Pass, "release": Fail, "": Fail} {
		exchanged := newSharing(facts.RWLock, 0, 3).at(1, "join", 0, "write").at(1, "grant", 0, "").at(2, "join", 1, "write")
		place := exchanged.held[1].Path
		exchanged.at(3, "join", 2, "write").at(4, "release", 0, "")
		for i, what := range []string{"join", "grant", "release"} {
			if deletedAfter == "expire" && what == "release" { // the session ends with both nodes
				exchanged.at(7, "expire", 1, "")
				c := exchanged.records[len(exchanged.records)-1].(*history.Commit)
				c.Removed = append(c.Removed, place)
			} else if exchanged.at(5+i, what, 1, "read"); what == deletedAfter {
				exchanged.at(5+i, "", 0, "")
				exchanged.records = append(exchanged.records, &history.Commit{Op: history.CommitDelete, Session: 101, Zxid: exchanged.zxid, Cxid: 3, Path: place})
			}
		}
		exchanged.at(8, "grant", 2, "").at(9, "release", 2, "")
		exchanged.judge(t, MutualExclusion, Pass, "")
		exchanged.judge(t, FIFO, fifo, "")
		exchanged.judge(t, ClaimValidity, Pass, "")
	}

	// The mode is in the node's data, and the later writers' nodes have the paths of the readers' nodes.
	readThenWritten := func() *sharing {
		return newSharing(facts.RWLock, 0, 2).at(1, "join", 0, "read").at(1, "grant", 0, "").at(1, "join", 1, "read").at(1, "grant", 1, "").
			at(3, "release", 0, "").at(3, "release", 1, "").at(4, "join", 0, "write").at(4, "grant", 0, "").at(5, "join", 1, "write")
	}
	samePaths := func(s *sharing, own bool, result string) {
		for _, r := range s.records {
			switch r := r.(type) {
			case *history.Commit:
				r.Path = fmt.Sprintf("/l/n-%010d", r.Session)
			case *history.Sample:
				r.Path, r.Own = fmt.Sprintf("/l/n-%010d", r.Session), own
			}
		}
		s.judge(t, FIFO, result, "")
	}
	samePaths(readThenWritten().at(6, "release", 0, "").at(6, "grant", 1, ""), false, Pass)
	samePaths(readThenWritten().at(6, "release", 0, "").at(6, "grant", 1, ""), true, Pass)
	samePaths(readThenWritten().at(6, "grant", 1, "").at(7, "release", 0, ""), false, Fail)

	late := newSharing(facts.RWLock, 0, 4).at(1, "join", 0, "read").at(1, "grant", 0, "").at(2, "join", 1, "read").at(30, "wait", 1, "")
	late.at(30, "release", 0, "").judge(t, Progress, Fail, "client 1 waited to read")
}

// On a machine that is too busy for the harness's own timers, a long wait proves nothing.
func TestProgress_onABusyMachine(t *testing.T) {
	limits := history.HarnessLimits{Late: time.Second, LateShare: 0.3}
	busy := &history.HarnessLoad{At: 31 * time.Second, Ticks: 100, LateMax: 2 * time.Second, Limits: limits}
	idle := &history.HarnessLoad{At: 31 * time.Second, Ticks: 100, LateMax: time.Millisecond, Limits: limits}
	late := func() *sharing {
		return newSharing(facts.RWLock, 0, 4).at(1, "join", 0, "read").at(1, "grant", 0, "").at(2, "join", 1, "read").at(30, "wait", 1, "").at(30, "release", 0, "")
	}
	for self, result := range map[*history.HarnessLoad]string{busy: Unknown, idle: Fail} {
		s := late()
		s.records = append(s.records, self)
		s.judge(t, Progress, result, "client 1 waited to read")
	}
	queue := story(t, "opened 0 9; opened 1 8; put a 10; take a 20; put b 30; take b 9000 called=35")
	for self, result := range map[*history.HarnessLoad]string{busy: Unknown, idle: Fail} {
		records := list{self}
		for n := range queue.Records {
			records = append(records, n.Record)
		}
		judgeHeader(t, history.Header{Trial: "t", Recipe: Queue, Promises: history.Promises{Delivery: facts.ExactlyOnce}}, Progress, records, result, "nothing was taken")
	}
}

func newMeeting(clients int) *sharing {
	s := newSharing(facts.Barrier, 0, clients)
	s.header.Clients, s.header.Promises = clients, history.Promises{Exclusive: true, Events: true}
	return s
}

// leave adds a departure that was called at one second and returned at another; the node goes with
// the call.
func (s *sharing) leave(called, returned, client int) *sharing {
	s.at(called, "release", client, "")
	last := s.records[len(s.records)-1].(*history.Sample)
	last.Return = time.Duration(returned) * time.Second
	return s
}

func TestBarrier(t *testing.T) {
	entered := func() *sharing {
		return newMeeting(3).at(1, "join", 0, "").at(2, "join", 1, "").at(3, "join", 2, "")
	}
	all := func() *sharing { return entered().at(3, "grant", 0, "").at(3, "grant", 1, "").at(3, "grant", 2, "") }
	sound := all().leave(4, 6, 0).leave(5, 6, 1).leave(6, 6, 2)
	sound.judge(t, NoEarlyPassage, Pass, "3 passages were checked by the servers' commits")
	sound.judge(t, ClaimValidity, Pass, "")
	sound.judge(t, Progress, Pass, "")
	for _, of := range []string{MutualExclusion, FIFO, Fencing, Succession, WriterProgress} {
		sound.judge(t, of, "", "")
	}
	sound.header.Promises.Exclusive = false
	sound.judge(t, NoEarlyPassage, NotPromised, "")

	early := newMeeting(3).at(1, "join", 0, "").at(2, "join", 1, "").at(2, "grant", 0, "").at(3, "join", 2, "")
	early.judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 2s")
	early.at(3, "grant", 1, "").judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 2s")

	notified := func(at int) *sharing {
		s := newMeeting(3).at(1, "join", 0, "").at(2, "join", 1, "").at(at, "grant", 0, "")
		s.records[len(s.records)-1].(*history.Sample).Notified = true
		return s
	}
	notified(3).at(3, "join", 2, "").at(4, "grant", 2, "").judge(t, NoEarlyPassage, Pass, "")
	notified(3).at(4, "join", 2, "").at(5, "grant", 2, "").judge(t, NoEarlyPassage, Fail, "the last member of its generation called enter only at 4s")
	notified(3).judge(t, NoEarlyPassage, Fail, "3 members of its generation never had nodes at once")

	all().leave(4, 5, 0).leave(6, 7, 1).leave(6, 7, 2).judge(t, NoEarlyPassage, Fail, "client 0 had left the barrier at 5s")
	// One that died is not awaited, and one that came too late is not either.
	all().leave(4, 5, 0).at(4, "expire", 2, "").leave(5, 6, 1).judge(t, NoEarlyPassage, Pass, "")
	// A generation counts from its first member on: the last one's nodes are gone.
	sound = all().leave(4, 6, 0).leave(5, 6, 1).leave(6, 6, 2)
	sound.at(7, "join", 0, "").at(7, "grant", 0, "").judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 7s")
}

// commit adds a commit of a client's session: of a created node, or of a removed one.
func (s *sharing) commit(op string, client int, path string) *sharing {
	s.zxid++
	s.records = append(s.records, &history.Commit{Op: op, Session: int64(100 + client), Zxid: s.zxid, Cxid: 9, Path: path, Ephemeral: op == history.CommitCreate})
	return s
}

// meet lets all clients enter and leave in that second.
func (s *sharing) meet(second int) *sharing {
	for _, what := range []string{"join", "grant", "release"} {
		for client := range s.header.Clients {
			s.at(second, what, client, "")
		}
	}
	return s
}

func TestBarrier_otherNodesOfAClient(t *testing.T) {
	begin := func() *sharing {
		s := newMeeting(3)
		for client := range 3 {
			s.commit(history.CommitCreate, client, fmt.Sprintf("/l/clients/0123456789abcde%d", client))
		}
		return s
	}
	begin().meet(1).meet(3).judge(t, NoEarlyPassage, Pass, "6 passages")
	early := begin().meet(1).at(3, "join", 0, "").at(3, "join", 1, "").at(3, "grant", 0, "").at(4, "join", 2, "")
	early.judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 3s")
	hasty := begin().meet(1)
	for client := range 3 {
		hasty.at(3, "join", client, "")
	}
	for client := range 3 {
		hasty.at(3, "grant", client, "")
	}
	hasty.leave(4, 5, 0).leave(6, 7, 1).leave(6, 7, 2)
	for client := range 3 {
		hasty.records = append(hasty.records, sessionGone(int64(100+client), hasty.zxid+1))
	}
	hasty.judge(t, NoEarlyPassage, Fail, "client 0 had left the barrier at 5s")
}

// A word directly before the number distinguishes the nodes of members from others, however long both are together.
func TestBarrier_otherNodesOfTheSameLength(t *testing.T) {
	s := newMeeting(3).at(1, "join", 0, "")
	renamed(s.records, func(path string) string { return "/l/memberX" + path[max(0, len(path)-10):] })
	s.held[0].Path = "/l/memberX" + s.held[0].Path[len(s.held[0].Path)-10:]
	s.commit(history.CommitCreate, 1, "/l/present0000000013").commit(history.CommitCreate, 2, "/l/present0000000014")
	s.at(3, "grant", 0, "").judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 3s")
}

// A barrier may remove its nodes in the background: a client whose leave has returned is no member.
func TestBarrier_nodesRemovedAfterLeave(t *testing.T) {
	lazy := func() (*sharing, []string) {
		s, paths := newMeeting(3).meet(1), []string(nil)
		s.records = slices.DeleteFunc(s.records, func(r history.Record) bool {
			c, ok := r.(*history.Commit)
			return ok && c.Op == history.CommitDelete
		})
		for client := range 3 {
			paths = append(paths, s.held[client].Path)
		}
		return s, paths
	}
	sound, old := lazy()
	for client := range 3 {
		sound.at(3, "join", client, "").commit(history.CommitDelete, client, old[client])
	}
	for client := range 3 {
		sound.at(4, "grant", client, "")
	}
	sound.leave(5, 7, 0).leave(6, 7, 1).leave(6, 7, 2)
	sound.judge(t, NoEarlyPassage, Pass, "6 passages")

	early, _ := lazy()
	early.at(3, "join", 0, "").at(3, "grant", 0, "").judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 3s")

	// A client that enters again with its node of before: no commit shows that it has.
	again, _ := lazy()
	again.at(3, "grant", 0, "").judge(t, NoEarlyPassage, Unknown, "1 of 4 passages")
}

// Each client's nodes have a name of its own: the node of a client that was never granted may be a member's.
func TestBarrier_namesOfTheirOwn(t *testing.T) {
	s := newMeeting(3)
	s.at(1, "join", 0, "alice").at(1, "join", 1, "bob").at(1, "join", 2, "carol").at(1, "grant", 0, "").at(1, "grant", 1, "")
	s.judge(t, NoEarlyPassage, Unknown, "the names of the granted nodes do not show which other nodes belong to members")
	s.at(1, "grant", 2, "").judge(t, NoEarlyPassage, Pass, "3 passages")
	s.leave(2, 3, 0).leave(3, 3, 1).leave(3, 3, 2).at(4, "join", 0, "alice").at(4, "join", 1, "bob").at(4, "grant", 0, "")
	s.judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 4s") // all names are known
	s.commit(history.CommitCreate, 2, "/l/x-dave-0000000099").judge(t, NoEarlyPassage, Unknown, "the names of the granted nodes do not show")
}

// Without commits the calls show who has entered.
func TestBarrier_withoutCommits(t *testing.T) {
	story := func(records ...history.Record) []history.Record { return records }
	sample := func(op string, client, call, returned int) *history.Sample {
		return &history.Sample{Client: client, Op: op, Call: time.Duration(call) * time.Second, Return: time.Duration(returned) * time.Second,
			Outcome: history.OK, Session: int64(100 + client), Token: int64(10*call + client), Path: "/l/x"}
	}
	header := newMeeting(2).header
	judgeHeader(t, header, NoEarlyPassage, story(sample(history.Acquire, 0, 1, 2), sample(history.Acquire, 1, 2, 2),
		sample(history.Release, 0, 3, 4), sample(history.Release, 1, 4, 4)), Pass, "by the clients' calls")
	early := story(sample(history.Acquire, 0, 1, 2), sample(history.Acquire, 1, 3, 3))
	judgeHeader(t, header, NoEarlyPassage, early, Fail, "when at most 1 of 2 clients had called enter")
	judgeHeader(t, header, NoEarlyPassage, append(early, &history.Session{Event: history.Killed, Client: 1, Session: 101}), Unknown, "sessions had ended")
}

// All wait in enter, or one in leave although nobody is inside.
func TestBarrier_progress(t *testing.T) {
	wait := func(op string, client, from, to int) *history.Waiting {
		return &history.Waiting{At: time.Duration(to) * time.Second, Client: client, Op: op, Call: time.Duration(from) * time.Second}
	}
	header := newMeeting(2).header
	header.Params = map[string]string{"session_timeout": "4s"}
	passed := list{
		&history.Sample{Client: 0, Op: history.Acquire, Outcome: history.OK, Call: 0, Return: 1, Token: 1, Session: 100, Path: "/l/x"},
		&history.Sample{Client: 0, Op: history.Release, Outcome: history.OK, Call: 2, Return: 3, Token: 1, Session: 100, Path: "/l/x"},
	}
	for _, c := range []struct {
		waits  []history.Record
		result string
		reason string
	}{
		{list{wait(history.Acquire, 0, 1, 30), wait(history.Acquire, 1, 5, 30)}, Fail, "all 2 clients waited to enter from 5s to 30s"},
		{list{wait(history.Acquire, 0, 1, 30), wait(history.Acquire, 1, 28, 30)}, Pass, ""}, // one was missing
		{list{wait(history.Release, 0, 1, 30)}, Fail, "client 0 waited to leave from 1s to 30s"},
	} {
		judgeHeader(t, header, Progress, append(passed, c.waits...), c.result, c.reason)
	}
}
