package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/verdict"
)

const archive = "../verdict/testdata/corpus.zip"

// told is a failed verdict of a recorded history, and its explanation.
type told struct {
	name        string
	verdict     verdict.Verdict
	explanation Explanation
}

func open(t *testing.T, file string) *history.History {
	t.Helper()
	h, err := history.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// corpus tells every failure of the recorded histories.
func corpus(t *testing.T) (all []told) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(golden.Corpus(t, archive), "*.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		h := open(t, file)
		for _, v := range verdict.Judge(h) {
			if v.Result == verdict.Fail {
				trial := report.Trial{Name: h.Header.Trial, Cell: h.Header.Cell}
				all = append(all, told{filepath.Base(file) + " " + v.Guarantee, v, Failure(h, trial, v)})
			}
		}
	}
	if len(all) < 15 {
		t.Fatalf("%d failures in the corpus", len(all))
	}
	return all
}

func TestFailure_explainsEveryRecordedOne(t *testing.T) {
	for _, c := range corpus(t) {
		s := c.explanation
		if s.Guarantee.Order == 0 || s.Guarantee.Harm == "" {
			t.Errorf("%s: no promise is told", c.name)
		}
		if s.From >= s.To || s.From < 0 {
			t.Errorf("%s: it plays from %v to %v", c.name, s.From, s.To)
		}
		if !slices.IsSortedFunc(s.Events, func(a, b Event) int { return int(a.At - b.At) }) {
			t.Errorf("%s: its events are out of order", c.name)
		}
		proof := c.verdict.First
		if len(proof) == 0 {
			proof = c.verdict.Records
		}
		proofs := 0
		for _, e := range s.Events {
			if e.Proof != slices.Contains(proof, e.Record) {
				t.Errorf("%s: record %d proves it: %v, by the verdict %v", c.name, e.Record, e.Proof, proof)
			}
			if e.Proof {
				proofs++
			}
		}
		if proofs == 0 {
			t.Errorf("%s: nothing that is told proves it", c.name)
		}
		if len(s.Events) > max(eventLimit, proofs) {
			t.Errorf("%s: %d events are told, %d of them prove it", c.name, len(s.Events), proofs)
		}
		for _, l := range s.Lanes {
			for _, b := range l.Bars {
				if b.From < s.From || b.To > s.To || b.From > b.To {
					t.Errorf("%s: %s has a bar from %v to %v in an explanation from %v to %v", c.name, l.Name(), b.From, b.To, s.From, s.To)
				}
			}
		}
	}
}

// twoHolders is a history in which client 1 lets go only after client 2 was granted.
func twoHolders() *history.History {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	var records []history.Record
	op := func(client int, op string, token int64, call, ret int) {
		records = append(records, &history.Sample{Client: client, Op: op, Token: token, Session: int64(client), Path: "/l/n-1",
			Due: ms(call), Call: ms(call), Return: ms(ret), Outcome: history.OK})
	}
	for _, client := range []int{1, 2, 3} {
		records = append(records, &history.Session{Event: history.Opened, Client: client, Session: int64(client), Timeout: 4 * time.Second})
	}
	op(1, history.Acquire, 5, 100, 110)
	op(3, history.Write, 4, 10, 20)
	op(2, history.Acquire, 6, 120, 200)
	op(1, history.Release, 5, 300, 301)
	op(2, history.Release, 6, 400, 401)
	return history.Of(history.Header{Trial: "two", Cell: history.Cell{Subject: "lock/two", Clients: 3}}, records...)
}

// The clients of other paths, which hold other locks, are not part of the explanation.
func TestFailure_ofAPathHasOnlyItsClients(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	var records []history.Record
	for i, client := range []int{0, 1, 2, 3} {
		records = append(records, &history.Session{Event: history.Opened, Client: client, Session: int64(client + 1), Timeout: 4 * time.Second})
		s := history.Sample{Client: client, Op: history.Acquire, Token: int64(i + 1), Session: int64(client + 1), Call: ms(1), Return: ms(100 + 10*i), Outcome: history.OK}
		if client == 0 { // so that path 0 has one holder after the other
			s.Return = ms(50)
		}
		records = append(records, &s)
	}
	for client, until := range []int{90, 200, 300, 400} {
		records = append(records, &history.Sample{Client: client, Op: history.Release, Token: int64(client + 1), Session: int64(client + 1), Call: ms(until), Return: ms(until + 1), Outcome: history.OK})
	}
	header := history.Header{Trial: "two", Paths: 2, Recipe: verdict.Lock, Promises: history.Promises{Exclusive: true}, Cell: history.Cell{Subject: "lock/two", Clients: 4}}
	h := history.Of(header, records...)
	for _, v := range verdict.Judge(h) {
		if v.Guarantee != verdict.MutualExclusion {
			continue
		}
		s := Failure(h, report.Trial{Name: "two", Cell: h.Header.Cell}, v)
		if v.Result != verdict.Fail || len(s.Lanes) != 2 || s.Lanes[0].Client != 1 || s.Lanes[1].Client != 3 {
			t.Errorf("%s %q with the lanes %+v, want clients 1 and 3", v.Result, v.Reasons, s.Lanes)
		}
	}
}

func TestFailure_ofTwoHolders(t *testing.T) {
	h := twoHolders()
	vs := verdict.Judge(h)
	i := slices.IndexFunc(vs, func(v verdict.Verdict) bool { return v.Guarantee == verdict.MutualExclusion })
	if vs[i].Result != verdict.Fail {
		t.Fatalf("%+v", vs[i])
	}
	s := Failure(h, report.Trial{Name: "two", Cell: h.Header.Cell}, vs[i])
	if len(s.Lanes) != 2 || s.Lanes[0].Name() != "client 1" || s.Lanes[1].Name() != "client 2" {
		t.Fatalf("clients 1 and 2 take part: %+v", s.Lanes)
	}
	held := func(l Lane) Bar {
		return l.Bars[slices.IndexFunc(l.Bars, func(b Bar) bool { return b.Kind == HoldBar })]
	}
	if a, b := held(s.Lanes[0]), held(s.Lanes[1]); a.To != 300*time.Millisecond || b.From != 200*time.Millisecond {
		t.Errorf("client 1 held to 300ms, client 2 from 200ms: %+v, %+v", a, b)
	}
	i = slices.IndexFunc(s.Events, func(e Event) bool { return e.Record == 6 })
	if e := s.Events[i]; !e.Proof || e.Who != "client 2" || e.What != "is granted token 6 by node n-1 of session 0x2; acquire was called at 0.120 s" {
		t.Errorf("the second grant: %+v", e)
	}
	if slices.ContainsFunc(s.Events, func(e Event) bool { return e.Who == "client 3" }) {
		t.Errorf("client 3 had no part in it: %+v", s.Events)
	}
	if len(s.Overlaps) != 1 || s.Overlaps[0].From != 200*time.Millisecond || s.Overlaps[0].To != 300*time.Millisecond {
		t.Errorf("both held from 200ms to 300ms: %+v", s.Overlaps)
	}
	if m := s.Lanes[1].Marks; len(m) == 0 || !m[0].Proof || s.Events[m[0].Number-1].Record != 6 {
		t.Errorf("the lane of client 2 does not lead to its grant: %+v", m)
	}
}

// The explanation begins with the faults that were last in force before the proof; one that hit
// somebody else, or was long ago, is no part of it. What the servers committed is told when
// a client may know of it.
func TestFailure_namesFaultsAndCommits(t *testing.T) {
	two := twoHolders()
	window := func(fault string, client int, at time.Duration) history.Fault {
		return history.Fault{Window: &history.Window{Fault: fault, Target: "x", Client: client, Start: at, End: at + time.Millisecond, Proof: "seen"}}
	}
	two.Faults = []history.Fault{window("session.flap", 3, 90*time.Millisecond), window("session.close", 1, 105*time.Millisecond)}
	var records []history.Record
	for n := range readableRecords(two) {
		if s, ok := n.Record.(*history.Sample); ok {
			s.Zxid = s.Token
		}
		records = append(records, n.Record)
	}
	records = append(records, &history.Commit{Zxid: 6, Session: 2, Op: history.CommitCreate, Path: "/l/n-2", Ephemeral: true}, &history.CommitsEnd{Last: 9})
	h := history.Of(two.Header, records...)
	h.Faults = two.Faults
	s := Failure(h, report.Trial{Cell: h.Header.Cell}, verdict.Verdict{Guarantee: verdict.MutualExclusion, Result: verdict.Fail, Records: []int{4, 6}})
	if !slices.Equal(s.ActiveFaults, []string{"session.close"}) || s.From > 105*time.Millisecond {
		t.Errorf("under %q, from %v", s.ActiveFaults, s.From)
	}
	i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Who == "servers" })
	if i < 0 || s.Events[i].At != 200*time.Millisecond || s.Events[i].What != "had committed 0x6: node n-2 was created by session 0x2 of client 2" {
		t.Errorf("the commit is not told at the grant that knows of it: %+v", s.Events)
	}
}

// recorded is a history in which the guarantees may well be broken.
func recorded(t *testing.T) *history.History {
	t.Helper()
	return open(t, filepath.Join(golden.Corpus(t, archive), "zoo-worker-unsorted-newcomers.jsonl.zst"))
}

// failed is a trial that broke these guarantees.
func failed(name string, expect []string, guarantees ...string) report.Trial {
	x := report.Trial{Name: name, Expect: expect, Cell: history.Cell{Subject: "lock/a", Clients: 3}}
	for _, g := range guarantees {
		x.Verdicts = append(x.Verdicts, report.Verdict{Guarantee: g, Result: report.Fail, Records: []int{1}})
	}
	return x
}

func TestFailures_areThoseWithAProof(t *testing.T) {
	passed, unproven := failed("a", nil, "fifo"), failed("a", nil, "fifo")
	passed.Verdicts[0].Result, unproven.Verdicts[0].Records = report.Pass, nil
	for _, row := range []struct {
		about string
		trial report.Trial
		want  int
	}{
		{"every failure is explained", failed("a", nil, "fifo", "mutual-exclusion"), 2},
		{"of a broken subject those that had to catch it", failed("a", []string{"fifo"}, "fifo", "mutual-exclusion"), 1},
		{"a pass is no failure", passed, 0},
		{"a failure without records cannot be explained", unproven, 0},
	} {
		c := report.Conclusion{Result: report.Result{Trials: []report.Trial{row.trial}}, Histories: map[string]*history.History{"a": recorded(t)}}
		if explanations := Failures(c); len(explanations) != row.want {
			t.Errorf("%s: %d explanations, want %d", row.about, len(explanations), row.want)
		}
	}
}

// A terminal tells the first few: what broke one guarantee many times must not hide another,
// nor may the limit.
func TestFailures_tellTheFirstOfEachGuaranteeFirst(t *testing.T) {
	trials := []report.Trial{failed("zoo", []string{"progress"}, "progress"), failed("0", nil, "fifo")}
	for i := range explanationLimit {
		trials = append(trials, failed(fmt.Sprint(i+1), nil, "fifo", "no-orphan"))
	}
	trials = append(trials, failed("last", nil, "progress"))
	h := history.Of(history.Header{}, &history.Session{Event: history.Opened, Client: 1, Session: 1})
	c := report.Conclusion{Result: report.Result{Trials: trials}, Histories: map[string]*history.History{}}
	for _, x := range trials {
		c.Histories[x.Name] = h
	}
	var got []string
	explanations := Failures(c)
	for _, s := range explanations[:6] {
		got = append(got, s.Trial.Name+" "+s.GuaranteeName)
	}
	if want := []string{"zoo progress", "0 fifo", "1 no-orphan", "last progress", "1 fifo", "2 fifo"}; !slices.Equal(got, want) {
		t.Errorf("first are told %q, want %q", got, want)
	}
	if len(explanations) != explanationLimit {
		t.Errorf("%d explanations", len(explanations))
	}
}

// The same failure in another cell of a matrix, or provoked otherwise, is another explanation.
func TestFailures_nameTheCell(t *testing.T) {
	trial := func(timeout, script string) report.Trial {
		x := failed("a", nil, "fifo")
		x.Script, x.Params = script, map[string]string{"session_timeout": timeout, "hold": "2ms"}
		return x
	}
	explanations := Failures(report.Conclusion{Result: report.Result{Trials: []report.Trial{trial("4s", ""), trial("10s", ""), trial("4s", "line")}},
		Histories: map[string]*history.History{"a": recorded(t)}})
	for i, want := range []string{"lock/a session_timeout=4s", "lock/a session_timeout=10s", "lock/a session_timeout=4s script=line"} {
		if explanations[i].Label != want {
			t.Errorf("%q, want %q", explanations[i].Label, want)
		}
	}
}

func TestExplanation_leavesOutWhatProvesNothing(t *testing.T) {
	var s Explanation
	for i := range eventLimit + 10 {
		s.Events = append(s.Events, Event{At: time.Duration(i), Record: i, Proof: i >= eventLimit})
	}
	s.shorten()
	if len(s.Events) != eventLimit || s.OmittedEvents != 10 {
		t.Fatalf("%d events, %d left out", len(s.Events), s.OmittedEvents)
	}
	if last := s.Events[eventLimit-1]; !last.Proof || last.Record != eventLimit+9 {
		t.Errorf("what proves it was left out: %+v", last)
	}
}

// Time runs one way from edge to edge, with room around every stop, however near they are.
func TestChart_shareHasRoomForEveryStop(t *testing.T) {
	c := Chart{From: time.Second, To: 11 * time.Second, EventTimes: []time.Duration{1001 * time.Millisecond, 1002 * time.Millisecond, 10 * time.Second}}
	if c.Position(c.From) != 0 || c.Position(c.To) != 1 || c.Position(0) != 0 || c.Position(time.Minute) != 1 {
		t.Errorf("the edges are at %v and %v", c.Position(c.From), c.Position(c.To))
	}
	before := 0.0
	for _, at := range append(c.EventTimes, c.To) {
		share := c.Position(at)
		if share-before < 0.12 { // half of the room is shared alike by four gaps
			t.Errorf("%v is at %.3f, the one before it at %.3f", at, share, before)
		}
		before = share
	}
	if half := (Chart{From: 0, To: 10}).Position(5); half != 0.5 {
		t.Errorf("without stops time is even, and the middle is at %v", half)
	}
}

func TestChart_bothIsWhereTwoLanesHold(t *testing.T) {
	c := Chart{From: 0, To: 100}
	c.Add(1, 0, 40, HoldBar)
	c.Add(2, 30, 60, HoldBar)
	c.Add(3, 60, 90, HoldBar)
	c.Add(4, 0, 100, WaitBar)
	c.findOverlaps()
	if len(c.Overlaps) != 1 || c.Overlaps[0].From != 30 || c.Overlaps[0].To != 40 {
		t.Errorf("two hold from 30 to 40: %+v", c.Overlaps)
	}
}
