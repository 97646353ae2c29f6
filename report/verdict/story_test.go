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

// A story is a hand-made history: records that are separated by semicolons, in milliseconds.
//
//	opened  client session [timeout [at]]
//	session event client at                      (of the client's last session)
//	acquire client token call return [outcome] [in=phase]  (the session is the client's last)
//	release client token call [return [outcome]] (which takes a millisecond, unless it says otherwise)
//	hold    client token from to [in=phase]      (an acquire that was called at 0, and its release)
//	write   client token version call [outcome]
//	fault   name client start end [noproof]
//	cut-off client start end                     (of a member that goes on serving the client)
//	fan     at notifications expected [fired]    (by the members' own counters)
//	phase   name start end [stopped]
//	put     item call [outcome] [client=1] [zxid=0]
//	take    item call [outcome] [client=1] [zxid=0] [called=call] [in=phase]  (item -: nothing was handed over)
//	create  zxid session item                    (a commit: of the item's node, /q/qn-zxid)
//	claim   zxid session node                    (a commit: of an ephemeral node named after that of transaction node)
//	set     zxid session node                    (a commit: of new data of the node of transaction node)
//	delete  zxid session node [cxid]             (a commit: of the node of transaction node; claim-node: of the claim)
//	move    zxid session node item               (two commits of one transaction: to /q/done)
//	gap     from to                              (in the commits)
//	lost    client session cxid at               (a reply)
//	waiting client op call at [in=phase]         (when the phase ended)
//	unplayed at why
//	emptied at
//	joined  client token at                      (the same phase and round as leaving)
//	leaving client at                            (client -1: the drill is over)
//	snapshot asked at [queue] [node=client:token[:path]] [folder=path] [item=name] [waiter=client:moved:watches:others[:behind]]
//	checked client token session ahead asked at  (of the client's node)
//	effort  client calls requests notifications connections refusals [queue]
//
// It is written so that a table can be read as what happened.
func story(t testing.TB, text string) *history.History {
	t.Helper()
	sessions := map[int]int64{}
	var records []history.Record
	for part := range strings.SplitSeq(text, ";") {
		if f := strings.Fields(part); len(f) > 0 {
			records = append(records, (&storyLine{t, f, sessions}).records()...)
		}
	}
	if slices.ContainsFunc(records, isCommit) && !slices.ContainsFunc(records, isEnd) {
		records = append(records, &history.CommitsEnd{Last: 1 << 40})
	}
	return history.Of(history.Header{Trial: "story", Cell: history.Cell{Subject: "lock/predecessor"}}, records...)
}

func isCommit(r history.Record) bool { _, is := r.(*history.Commit); return is }

func isEnd(r history.Record) bool { _, is := r.(*history.CommitsEnd); return is }

// storyLine is a record of a story, in fields.
type storyLine struct {
	testing.TB
	fields   []string
	sessions map[int]int64 // the last of each client
}

func (l *storyLine) records() []history.Record {
	one := func(r ...history.Record) []history.Record { return r }
	switch kind := l.fields[0]; kind {
	case "opened":
		l.sessions[l.int(1)] = l.int64(2)
		return one(&history.Session{Event: history.Opened, Client: l.int(1), Session: l.int64(2),
			Timeout: l.optionalMS(3, 4*time.Second), At: l.optionalMS(4, 0)})
	case "session":
		return one(&history.Session{Event: history.SessionEvent(l.fields[1]), Client: l.int(2), At: l.ms(3), Session: l.sessions[l.int(2)]})
	case "hold":
		acquire := storyLine{l.TB, slices.Concat([]string{"acquire", l.fields[1], l.fields[2], "0"}, l.fields[3:4], l.fields[5:]), l.sessions}
		release := storyLine{l.TB, []string{"release", l.fields[1], l.fields[2], l.fields[4]}, l.sessions}
		return append(acquire.records(), release.records()...)
	case "acquire", "release":
		return one(&history.Sample{Client: l.int(1), Op: kind, Token: l.int64(2), Session: l.sessions[l.int(1)], Path: "/l/n-1",
			Due: l.ms(3), Call: l.ms(3), Return: l.optionalMS(4, l.ms(3)+time.Millisecond), Outcome: l.outcome(5), Phase: l.word("in"),
			Canceled: slices.Contains(l.fields, "canceled")})
	case "write":
		return one(&history.Sample{Client: l.int(1), Op: kind, Token: l.int64(2), Session: l.sessions[l.int(1)],
			Version: l.int64(3), Call: l.ms(4), Return: l.ms(4), Outcome: l.outcome(5)})
	case "fault":
		w := history.Window{Fault: l.fields[1], Target: "client " + l.fields[2], Client: l.int(2), Start: l.ms(3), End: l.ms(4), Proof: "seen"}
		if len(l.fields) > 5 {
			w.Proof, w.Err = "", "no proven effect"
		}
		return one(&w)
	case "cut-off":
		return one(&history.Window{Fault: "partition.peers", Target: "zk1", Client: -1, Served: []int{l.int(1)},
			Start: l.ms(2), End: l.ms(3), Proof: "seen"})
	case "fan":
		r := &history.Traffic{At: l.ms(1), Phase: "drain", Of: history.OfHandoff, Count: 9,
			Notifications: l.int64(2), ExpectedNotifications: new(l.int64(3))}
		if len(l.fields) > 4 {
			r.ServerNotifications = new(l.int64(4))
		}
		return one(r)
	case "phase":
		return one(&history.PhaseStart{At: l.ms(2), Name: l.fields[1]},
			&history.PhaseEnd{At: l.ms(3), Name: l.fields[1], Stopped: l.optionalMS(4, 0)})
	case "put", "take":
		called := time.Duration(l.option("called", l.int(2))) * time.Millisecond
		return one(&history.Sample{Client: l.option("client", 1), Op: kind, Item: strings.TrimPrefix(l.fields[1], "-"),
			Call: called, Return: l.ms(2), Outcome: l.outcome(3), Zxid: int64(l.option("zxid", 0)), Phase: l.word("in")})
	case "create":
		return one(&history.Commit{Op: kind, Zxid: l.int64(1), Session: l.int64(2), Item: l.fields[3], Path: "/q/qn-" + l.fields[1]})
	case "claim":
		return one(&history.Commit{Op: history.CommitCreate, Zxid: l.int64(1), Session: l.int64(2), Ephemeral: true, Path: "/claims/qn-" + l.fields[3]})
	case "delete", "set":
		c := &history.Commit{Op: kind, Zxid: l.int64(1), Session: l.int64(2), Path: "/q/qn-" + l.fields[3]}
		if node, ok := strings.CutPrefix(l.fields[3], "claim-"); ok {
			c.Path = "/claims/qn-" + node
		}
		if len(l.fields) > 4 {
			c.Cxid = int32(l.int(4))
		}
		return one(c)
	case "move":
		from := history.Commit{Op: history.CommitDelete, Zxid: l.int64(1), Session: l.int64(2), Path: "/q/qn-" + l.fields[3]}
		to := from
		to.Op, to.Path, to.Item = history.CommitCreate, "/q/done/qn-"+l.fields[3], l.fields[4]
		return one(&from, &to)
	case "gap":
		return one(&history.CommitsEnd{Gaps: []history.ZxidGap{{From: l.int64(1), To: l.int64(2)}}})
	case "lost":
		return one(&history.LostReply{Client: l.int(1), Session: l.int64(2), Cxid: int32(l.int(3)), At: l.ms(4)})
	case "waiting":
		return one(&history.Waiting{Client: l.int(1), Op: l.fields[2], Call: l.ms(3), At: l.ms(4), Phase: l.word("in")})
	case "unplayed":
		return one(&history.TrialFailure{At: l.ms(1), Why: strings.Join(l.fields[2:], " ")})
	case "emptied":
		return one(&history.Emptied{At: l.ms(1)})
	case "joined":
		return one(&history.Joined{Client: l.int(1), Token: l.int64(2), At: l.ms(3)})
	case "leaving":
		return one(&history.Leaving{Client: l.int(1), At: l.ms(2), How: "resign"})
	case "snapshot":
		return one(l.snapshot())
	case "checked":
		return one(&history.ClaimCheck{Client: l.int(1), Token: l.int64(2), Session: l.int64(3), Ahead: l.int(4),
			Asked: l.ms(5), At: l.ms(6), Path: "/l/n-1"})
	case "effort":
		return one(&history.Effort{Client: l.int(1), Calls: l.int64(2), Requests: l.int64(3), Notifications: l.int64(4),
			Connections: l.int64(5), Refusals: l.int64(6), Queue: len(l.fields) > 7})
	}
	l.Fatalf("no such line: %v", l.fields)
	return nil
}

func (l *storyLine) snapshot() *history.Snapshot {
	s := &history.Snapshot{Asked: l.ms(1), At: l.ms(2)}
	for _, f := range l.fields[3:] {
		key, value, _ := strings.Cut(f, "=")
		v := &storyLine{l.TB, strings.Split(value, ":"), nil}
		switch key {
		case "queue":
			s.Queue = true
		case "unserved":
			s.Unserved = true
		case "node":
			s.Nodes = append(s.Nodes, history.SnapshotNode{Client: v.int(0), Token: v.int64(1), Session: 77, Path: "/l/n-" + v.fields[1]})
			if len(v.fields) > 2 {
				s.Nodes[len(s.Nodes)-1].Path = v.fields[2]
			}
		case "folder":
			s.Nodes = append(s.Nodes, history.SnapshotNode{Client: -1, Path: value})
		case "item":
			s.Items = append(s.Items, history.SnapshotItem{Path: "/q/" + value})
		case "waiter":
			s.Waiters = append(s.Waiters, history.Waiter{Client: v.int(0), Moved: v.int64(1), Watches: new(v.int64(2)), Others: v.int64(3), Behind: len(v.fields) > 4})
		default:
			l.Fatalf("no such part of a snapshot: %s", f)
		}
	}
	return s
}

func (l *storyLine) int(i int) int {
	l.Helper()
	if i >= len(l.fields) {
		l.Fatalf("%v has no field %d", l.fields, i)
	}
	d, err := time.ParseDuration(l.fields[i] + "ns")
	if err != nil {
		l.Fatalf("%v: field %d: %v", l.fields, i, err)
	}
	return int(d)
}

func (l *storyLine) int64(i int) int64 { return int64(l.int(i)) }

func (l *storyLine) ms(i int) time.Duration { return time.Duration(l.int(i)) * time.Millisecond }

// optionalMS is ms of a field that may be missing.
func (l *storyLine) optionalMS(i int, otherwise time.Duration) time.Duration {
	if i >= len(l.fields) {
		return otherwise
	}
	return l.ms(i)
}

// word returns the value of a field like in=calm; "" where there is none.
func (l *storyLine) word(name string) string {
	for _, f := range l.fields {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			return value
		}
	}
	return ""
}

// option is word for a number.
func (l *storyLine) option(name string, otherwise int) int {
	if value := l.word(name); value != "" {
		return (&storyLine{l.TB, []string{value}, nil}).int(0)
	}
	return otherwise
}

func (l *storyLine) outcome(i int) history.Outcome {
	if len(l.fields) > i && !strings.Contains(l.fields[i], "=") {
		return history.Outcome(l.fields[i])
	}
	return history.OK
}

// row is a row of a table: a story and what the verdict must be.
type row struct {
	name, story string
	result      string
	reason      string // part of a reason; empty for any
}

func judgeStories(t *testing.T, guarantee string, rows []row) {
	t.Helper()
	judgePromised(t, guarantee, history.Header{Trial: "story", Cell: history.Cell{Subject: "lock/predecessor"}}, rows)
}

// judgePromised is judgeStories of a subject that promises what the header says.
func judgePromised(t *testing.T, guarantee string, header history.Header, rows []row) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			h := story(t, c.story)
			h.Header = header
			expect(t, h, guarantee, c.result, c.reason)
		})
	}
}

// expect judges a history: the guarantee must have the result, with the reason among its own. Without
// a result it must have no verdict.
func expect(t *testing.T, h *history.History, guarantee, result, reason string) {
	t.Helper()
	v := verdictOf(h, guarantee)
	if v.Result != result || !strings.Contains(strings.Join(v.Reasons, "\n"), reason) {
		t.Errorf("%s is %q %q %v, want %s with %q", guarantee, v.Result, v.Reasons, v.Records, result, reason)
	}
	if v.Result == Fail && len(v.Records) == 0 {
		t.Error("a failure without a record that proves it")
	}
}

// verdictOf is the verdict of a guarantee, or an empty one.
func verdictOf(h *history.History, guarantee string) Verdict {
	for _, v := range Judge(h) {
		if v.Guarantee == guarantee {
			return v
		}
	}
	return Verdict{}
}

const second = time.Second

// nodeOf is the path of the node that a transaction created.
func nodeOf(czxid int64) string { return fmt.Sprintf("/l/n-%010d", czxid) }

func opened(client int, session int64) *history.Session {
	return &history.Session{Event: history.Opened, Client: client, Session: session, Timeout: 4 * second}
}

func created(session, zxid int64) *history.Commit {
	return &history.Commit{Op: history.CommitCreate, Session: session, Zxid: zxid, Cxid: 1, Path: nodeOf(zxid), Ephemeral: true}
}

func deleted(session, czxid, zxid int64) *history.Commit {
	return &history.Commit{Op: history.CommitDelete, Session: session, Zxid: zxid, Cxid: 2, Path: nodeOf(czxid)}
}

func sessionGone(session, zxid int64, czxids ...int64) *history.Commit {
	c := &history.Commit{Op: history.CommitClose, Session: session, Zxid: zxid}
	for _, k := range czxids {
		c.Removed = append(c.Removed, nodeOf(k))
	}
	return c
}

// operation is one that took a millisecond before at, of the client whose session is 100
// more than its number.
func operation(op string, client int, czxid, zxid int64, at time.Duration) *history.Sample {
	return &history.Sample{Op: op, Outcome: history.OK, Client: client, Session: int64(100 + client), Token: czxid, Path: nodeOf(czxid),
		Zxid: zxid, Call: at - time.Millisecond, Due: at - time.Millisecond, Return: at}
}

func acquired(client int, czxid, zxid int64, at time.Duration) *history.Sample {
	return operation(history.Acquire, client, czxid, zxid, at)
}

func released(client int, czxid, zxid int64, at time.Duration) *history.Sample {
	return operation(history.Release, client, czxid, zxid, at)
}

func whole() *history.CommitsEnd { return &history.CommitsEnd{Last: 99} }

func withGap() *history.CommitsEnd {
	return &history.CommitsEnd{Last: 99, Gaps: []history.ZxidGap{{From: 3, To: 20}}}
}

// What a lock promises: to be fair, or not.
var (
	fair   = history.Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}
	unfair = history.Promises{Exclusive: true, Deadline: true, Events: true}
)

func seconds(n int64) time.Duration { return time.Duration(n) * second }

func join(parts ...[]history.Record) []history.Record { return slices.Concat(parts...) }

type list = []history.Record

// recordRow is a row of a table: records, with all commits unless they say otherwise, and what the
// verdict must be.
type recordRow struct {
	name           string
	records        list
	result, reason string
}

// bothOpened begins the history of two clients.
var bothOpened = list{opened(1, 101), opened(2, 102)}

// judgeRecords judges a lock with these promises, whose histories begin with the same records.
func judgeRecords(t *testing.T, guarantee string, promises history.Promises, begin list, rows []recordRow) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			records := join(begin, c.records)
			if !slices.ContainsFunc(records, isEnd) {
				records = append(records, whole())
			}
			judgeFor(t, promises, guarantee, records, c.result, c.reason)
		})
	}
}

func judgeOne(t *testing.T, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	judgeFor(t, fair, guarantee, records, result, reason)
}

// judgeFor judges a lock that makes these promises.
func judgeFor(t *testing.T, promises history.Promises, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	judgeHeader(t, history.Header{Trial: "t", Recipe: Lock, Promises: promises}, guarantee, records, result, reason)
}

func judgeHeader(t *testing.T, header history.Header, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	expect(t, history.Of(header, records...), guarantee, result, reason)
}

// A line whose first node stands for ever keeps no more than those that stand, and as many; nor is
// a name that is used again and again remembered for ever.
func TestLine_forgets(t *testing.T) {
	l := facts.NewNodeTable(&history.History{})
	l.Record(created(1, 1))
	for z := int64(2); z < 100_000; z += 2 {
		l.Record(created(2, z))
		l.Record(deleted(2, z, z+1))
	}
	d := l.Dirs["/l"]
	if len(d.Standing) > 4 || len(d.Removed) > 2*facts.RemovedLimit || len(l.Nodes) > 2*facts.RemovedLimit+1 {
		t.Errorf("%d stand, %d are remembered, %d by name", len(d.Standing), len(d.Removed), len(l.Nodes))
	}
	l = facts.NewNodeTable(&history.History{})
	for z := int64(2); z < 100_000; z += 2 {
		c, d := created(2, z), deleted(2, z, z+1)
		c.Path, d.Path = "/l/lock", "/l/lock"
		l.Record(c)
		l.Record(d)
	}
	kept := 0
	for n := l.Nodes["/l/lock"]; n != nil; n = n.Before {
		kept++
	}
	if kept > 2*facts.RemovedLimit || l.Find("/l/lock", 99_998-2) == nil {
		t.Errorf("%d nodes are remembered", kept)
	}
}
