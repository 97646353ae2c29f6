package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// A story is a hand-made history, one line a record, in milliseconds:
//
//	opened  client session [timeout]
//	acquire client token call return [outcome]   (the session is the client's last)
//	release client token call return
//	write   client token version call [outcome]
//	note    kind client at                       (of the client's last session)
//	waiting client at
//	fault   name client start end [noproof]
//	fan     at notifications expected
//	phase   name start end
//	put     item call [outcome]
//	take    item call [outcome]                  (item -: nothing was handed over)
//	item    name asked at                        (seen in the look that the next looked ends)
//	emptied at
//	joined  client token at                      (the same phase and round as leaving)
//	leaving client at                            (client -1: the drill is over)
//	looked  asked at [queue]                     (ends a look; what it saw comes before)
//	node    client token asked at
//	waiter  client asked at moved watches else
//	checked client token session ahead asked at  (a look at the client's node)
//	effort  client calls requests notified connects refusals [queue]
//	committed item at
//
// It is written so that a table can be read as what happened.
func story(t testing.TB, lines string) *history.History {
	t.Helper()
	b := &teller{sessions: map[int]int64{}}
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) > 0 {
			b.tell(t, f)
		}
	}
	return history.Of(history.Header{Trial: "story", Subject: "lock/predecessor"}, b.records...)
}

type teller struct {
	sessions map[int]int64
	records  []history.Record
}

func (b *teller) sample(s history.Sample) {
	b.records = append(b.records, history.Record{Sample: &s})
}

func (b *teller) note(n history.Note) {
	b.records = append(b.records, history.Record{Note: &n})
}

func (b *teller) tell(t testing.TB, f []string) {
	num := func(i int) int { return number(t, f, i) }
	ms := func(i int) time.Duration { return time.Duration(num(i)) * time.Millisecond }
	outcome := func(i int) history.Outcome {
		if len(f) > i {
			return history.Outcome(f[i])
		}
		return history.OK
	}
	switch f[0] {
	case "opened":
		timeout := 4 * time.Second
		if len(f) > 3 {
			timeout = ms(3)
		}
		b.sessions[num(1)] = int64(num(2))
		b.note(history.Note{Kind: history.Opened, Client: num(1), Session: int64(num(2)), Timeout: timeout})
	case "acquire", "release":
		s := history.Sample{Client: num(1), Op: f[0], Token: int64(num(2)), Session: b.sessions[num(1)], Path: "/l/n-1",
			Due: ms(3), Call: ms(3), Return: ms(4), Outcome: outcome(5)}
		b.sample(s)
	case "write":
		b.sample(history.Sample{Client: num(1), Op: "write", Token: int64(num(2)), Session: b.sessions[num(1)],
			Version: int64(num(3)), Call: ms(4), Return: ms(4), Outcome: outcome(5)})
	case "note":
		b.note(history.Note{Kind: f[1], Client: num(2), At: ms(3), Session: b.sessions[num(2)]})
	case "waiting":
		b.note(history.Note{Kind: history.Waiting, Client: num(1), At: ms(2), Path: "/l/n-2"})
	case "fault":
		w := history.Window{Fault: f[1], Target: "client " + f[2], Client: num(2), Start: ms(3), End: ms(4), Proof: "seen"}
		if len(f) > 5 {
			w.Proof, w.Err = "", "no proven effect"
		}
		b.records = append(b.records, history.Record{Window: &w})
	case "cut-off": // a member that goes on serving the client
		b.records = append(b.records, history.Record{Window: &history.Window{Fault: "partition.peers", Target: "zk1", Client: -1,
			Served: []int{num(1)}, Start: ms(2), End: ms(3), Proof: "seen"}})
	case "fan":
		b.note(history.Note{Kind: history.Fan, At: ms(1), Client: -1, Phase: "drain", Counts: map[string]int64{
			"handoffs": 9, "notifications": int64(num(2)), "expected.notifications": int64(num(3))}})
	case "phase":
		b.note(history.Note{Kind: history.PhaseStart, At: ms(2), Client: -1, Text: f[1]})
		b.note(history.Note{Kind: history.PhaseEnd, At: ms(3), Client: -1, Text: f[1]})
	case "put", "take":
		b.sample(history.Sample{Client: 1, Op: f[0], Item: strings.TrimPrefix(f[1], "-"), Call: ms(2), Return: ms(2), Outcome: outcome(3)})
	case "emptied":
		b.note(history.Note{Kind: history.Emptied, Client: -1, At: ms(1)})
	case "joined":
		b.note(history.Note{Kind: history.Joined, Client: num(1), Token: int64(num(2)), At: ms(3)})
	case "leaving":
		b.note(history.Note{Kind: history.Leaving, Client: num(1), At: ms(2), Text: "resign"})
	case "looked", "node", "item", "waiter", "checked", "effort", "committed":
		b.note(observed(f[0], f, num, ms))
	default:
		t.Fatalf("no such line: %v", f)
	}
}

func number(t testing.TB, f []string, i int) int {
	t.Helper()
	if i >= len(f) {
		t.Fatalf("%v has no field %d", f, i)
	}
	d, err := time.ParseDuration(f[i] + "ns")
	if err != nil {
		t.Fatalf("%v: field %d: %v", f, i, err)
	}
	return int(d)
}

// telling is a table row: a story and what the verdict must be.
type telling struct {
	name, story string
	result      string
	reason      string // part of a reason; empty for any
}

func judgeStories(t *testing.T, guarantee string, rows []telling) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			for _, v := range Judge(story(t, c.story)) {
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

// observed makes the lab's own notes.
func observed(kind string, f []string, num func(int) int, ms func(int) time.Duration) history.Note {
	n := history.Note{Kind: kind, Client: -1}
	switch kind {
	case "looked":
		n.At, n.Counts = ms(2), map[string]int64{history.CountAsked: int64(ms(1))}
		n.Text = strings.Join(f[3:], "")
	case "item":
		n.At, n.Path, n.Counts = ms(3), "/q/"+f[1], map[string]int64{history.CountAsked: int64(ms(2))}
	case "node":
		n.Client, n.Token, n.Session, n.At, n.Path = num(1), int64(num(2)), 77, ms(4), "/l/n-"+f[2]
		n.Counts = map[string]int64{history.CountAsked: int64(ms(3))}
	case "waiter":
		n.Client, n.At = num(1), ms(3)
		n.Counts = map[string]int64{history.CountAsked: int64(ms(2)), history.CountMoved: int64(num(4)), history.CountFlying: 0,
			history.CountWatches: int64(num(5)), history.CountElse: int64(num(6))}
	case "checked":
		n.Client, n.Token, n.Session, n.At, n.Path = num(1), int64(num(2)), int64(num(3)), ms(6), "/l/n-1"
		n.Counts = map[string]int64{history.CountAhead: int64(num(4)), history.CountAsked: int64(ms(5))}
	case "effort":
		n.Client = num(1)
		n.Counts = map[string]int64{history.CountCalls: int64(num(2)), history.CountRequests: int64(num(3)), history.CountNotified: int64(num(4)),
			history.CountConnects: int64(num(5)), history.CountRefusals: int64(num(6))}
		if len(f) > 7 {
			n.Text = f[7]
		}
	case "committed":
		n.Client, n.Text, n.At, n.Token = 1, f[1], ms(2), 99
	}
	return n
}
