package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// A story is a hand-made history, one line a record, in milliseconds:
//
//	opened  client session [timeout [at]]
//	session event client at                      (of the client's last session)
//	acquire client token call return [outcome] [in=phase]  (the session is the client's last)
//	release client token call return
//	write   client token version call [outcome]
//	fault   name client start end [noproof]
//	cut-off client start end                     (of a member that goes on serving the client)
//	fan     at notifications expected [fired]    (by the members' own counters)
//	phase   name start end [stopped]
//	put     item call [outcome] [client=1] [zxid=0]
//	take    item call [outcome] [client=1] [zxid=0] [called=call] [in=phase]  (item -: nothing was handed over)
//	create  zxid session item                    (a commit: of the item's node, /q/qn-zxid)
//	claim   zxid session node                    (a commit: of an ephemeral node named after that of transaction node)
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
func story(t testing.TB, lines string) *history.History {
	t.Helper()
	sessions := map[int]int64{}
	var records []history.Record
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) > 0 {
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

// storyLine is a line of a story, in fields.
type storyLine struct {
	testing.TB
	fields   []string
	sessions map[int]int64 // the last of each client
}

func (l *storyLine) records() []history.Record {
	kind, client := l.fields[0], 0
	switch kind {
	case "opened", "acquire", "release", "write", "cut-off", "joined", "leaving", "checked", "effort":
		client = l.int(1)
	case "session", "fault":
		client = l.int(2)
	}
	one := func(r history.Record) []history.Record { return []history.Record{r} }
	switch kind {
	case "opened":
		timeout := 4 * time.Second
		if len(l.fields) > 3 {
			timeout = l.ms(3)
		}
		var at time.Duration
		if len(l.fields) > 4 {
			at = l.ms(4)
		}
		l.sessions[client] = l.int64(2)
		return one(&history.Session{Event: history.Opened, At: at, Client: client, Session: l.int64(2), Timeout: timeout})
	case "session":
		return one(&history.Session{Event: history.SessionEvent(l.fields[1]), Client: client, At: l.ms(3), Session: l.sessions[client]})
	case "acquire", "release":
		return one(&history.Sample{Client: client, Op: kind, Token: l.int64(2), Session: l.sessions[client], Path: "/l/n-1",
			Due: l.ms(3), Call: l.ms(3), Return: l.ms(4), Outcome: l.outcome(5), Phase: l.word("in"), Canceled: slices.Contains(l.fields, "canceled")})
	case "write":
		return one(&history.Sample{Client: client, Op: "write", Token: l.int64(2), Session: l.sessions[client],
			Version: l.int64(3), Call: l.ms(4), Return: l.ms(4), Outcome: l.outcome(5)})
	case "fault":
		w := history.Window{Fault: l.fields[1], Target: "client " + l.fields[2], Client: client, Start: l.ms(3), End: l.ms(4), Proof: "seen"}
		if len(l.fields) > 5 {
			w.Proof, w.Err = "", "no proven effect"
		}
		return one(&w)
	case "cut-off":
		return one(&history.Window{Fault: "partition.peers", Target: "zk1", Client: -1, Served: []int{client}, Start: l.ms(2), End: l.ms(3), Proof: "seen"})
	case "fan":
		r := &history.Traffic{At: l.ms(1), Phase: "drain", Of: history.OfHandoff, Count: 9,
			Notifications: l.int64(2), ExpectedNotifications: new(l.int64(3))}
		if len(l.fields) > 4 {
			r.ServerNotifications = new(l.int64(4))
		}
		return one(r)
	case "phase":
		end := &history.PhaseEnd{At: l.ms(3), Name: l.fields[1]}
		if len(l.fields) > 4 {
			end.Stopped = l.ms(4)
		}
		return []history.Record{&history.PhaseStart{At: l.ms(2), Name: l.fields[1]}, end}
	case "put", "take":
		s := &history.Sample{Client: l.option("client", 1), Op: kind, Item: strings.TrimPrefix(l.fields[1], "-"), Call: l.ms(2), Return: l.ms(2), Outcome: l.outcome(3),
			Zxid: int64(l.option("zxid", 0))}
		s.Phase = l.word("in")
		s.Call = time.Duration(l.option("called", int(s.Call/time.Millisecond))) * time.Millisecond
		return one(s)
	case "create":
		return one(&history.Commit{Op: kind, Zxid: l.int64(1), Session: l.int64(2), Item: l.fields[3], Path: "/q/qn-" + l.fields[1]})
	case "claim":
		return one(&history.Commit{Op: history.CommitCreate, Zxid: l.int64(1), Session: l.int64(2), Ephemeral: true, Path: "/claims/qn-" + l.fields[3]})
	case "delete":
		c := &history.Commit{Op: kind, Zxid: l.int64(1), Session: l.int64(2), Path: "/q/qn-" + l.fields[3]}
		if node, ok := strings.CutPrefix(l.fields[3], "claim-"); ok {
			c.Path = "/claims/qn-" + node
		}
		if len(l.fields) > 4 {
			c.Cxid = int32(l.int(4))
		}
		return one(c)
	case "move":
		from := &history.Commit{Op: history.CommitDelete, Zxid: l.int64(1), Session: l.int64(2), Path: "/q/qn-" + l.fields[3]}
		to := &history.Commit{Op: history.CommitCreate, Zxid: l.int64(1), Session: l.int64(2), Path: "/q/done/qn-" + l.fields[3], Item: l.fields[4]}
		return []history.Record{from, to}
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
		return one(&history.Joined{Client: client, Token: l.int64(2), At: l.ms(3)})
	case "leaving":
		return one(&history.Leaving{Client: client, At: l.ms(2), How: "resign"})
	case "snapshot":
		return one(l.snapshot())
	case "checked":
		return one(&history.ClaimCheck{Client: client, Token: l.int64(2), Session: l.int64(3), Ahead: l.int(4), Asked: l.ms(5), At: l.ms(6), Path: "/l/n-1"})
	case "effort":
		return one(&history.Effort{Client: client, Calls: l.int64(2), Requests: l.int64(3), Notifications: l.int64(4),
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
			for _, v := range Judge(h) {
				if v.Guarantee != guarantee {
					continue
				}
				if v.Result != c.result || !strings.Contains(strings.Join(v.Reasons, "\n"), c.reason) {
					t.Errorf("got %s %q %v, want %s with %q", v.Result, v.Reasons, v.Records, c.result, c.reason)
				}
				if v.Result == Fail && len(v.Records) == 0 {
					t.Error("a failure without a record that proves it")
				}
				return
			}
			if c.result != "" {
				t.Errorf("no verdict %s", guarantee)
			}
		})
	}
}
