package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const ms = time.Millisecond

// file is the Trace Event Format, as far as it is used here, read strictly.
type file struct {
	Unit   string            `json:"displayTimeUnit"`
	Events []Event           `json:"traceEvents"`
	Other  map[string]string `json:"otherData"`
}

// written is the trial as it is read back, with everything checked that the format asks for.
func written(t *testing.T, h *history.History) file {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(valid(f)...); err != nil {
		t.Fatal(err)
	}
	return f
}

// valid returns what breaks the format: an event without its fields, slices of one track that
// overlap and do not nest, ends without a beginning, arrows that touch no slice, tracks without
// a name.
func valid(f file) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	type track struct{ pid, tid int }
	slices, names, open, flows := map[track][][2]float64{}, map[track]bool{}, map[string]float64{}, map[string]Event{}
	for _, e := range f.Events {
		at := track{e.PID, e.TID}
		if e.Phase == "X" && e.Dur != nil {
			slices[at] = append(slices[at], [2]float64{e.Time, e.Time + *e.Dur})
		}
		if e.Name == "thread_name" || e.Name == "process_name" && e.PID != clientsPID {
			names[at] = true
		}
	}
	touches := func(e Event) bool {
		for _, s := range slices[track{e.PID, e.TID}] {
			if e.Time >= s[0] && e.Time <= s[1] {
				return true
			}
		}
		return false
	}
	for i, e := range f.Events {
		if e.Name == "" || e.PID == 0 || e.Time < 0 {
			bad("event %d: %+v", i, e)
		}
		if e.Phase != "M" && !names[track{e.PID, e.TID}] {
			bad("event %d is on a track without a name: %+v", i, e)
		}
		switch e.Phase {
		case "X":
			if e.Dur == nil || *e.Dur < 0 {
				bad("slice %d has no length: %+v", i, e)
			}
		case "b":
			open[e.Cat+e.ID] = e.Time
		case "e":
			if start, ok := open[e.Cat+e.ID]; !ok || start > e.Time {
				bad("event %d ends what has not begun: %+v", i, e)
			}
			delete(open, e.Cat+e.ID)
		case "s":
			flows[e.ID] = e
			if !touches(e) {
				bad("arrow %d begins outside of every slice: %+v", i, e)
			}
		case "f":
			if s, ok := flows[e.ID]; !ok || s.Time > e.Time || e.Bind != "e" || !touches(e) {
				bad("arrow %d comes from %+v and leads to %+v", i, s, e)
			}
			delete(flows, e.ID)
		case "i":
			if e.Scope != "t" {
				bad("instant %d: %+v", i, e)
			}
		case "M":
		default:
			bad("event %d has phase %q", i, e.Phase)
		}
	}
	if len(open)+len(flows) > 0 {
		bad("%d faults and %d arrows do not end", len(open), len(flows))
	}
	for at, all := range slices {
		for i, a := range all {
			for _, b := range all[:i] {
				if a[0] < b[1] && b[0] < a[1] && !(a[0] >= b[0] && a[1] <= b[1]) && !(b[0] >= a[0] && b[1] <= a[1]) {
					bad("on track %v %v and %v overlap and do not nest", at, a, b)
				}
			}
		}
	}
	return errs
}

// hold is a client that waits, holds and lets go.
func hold(client int, token int64, call, granted, released time.Duration) []history.Record {
	path := fmt.Sprintf("/n%d", token)
	return []history.Record{
		&history.Sample{Client: client, Op: history.Acquire, Call: call, Return: granted, Outcome: history.OK, Token: token, Session: int64(client + 1), Path: path},
		&history.Sample{Client: client, Op: history.Release, Call: released, Return: released + ms, Outcome: history.OK, Token: token, Session: int64(client + 1), Path: path},
	}
}

func TestWrite(t *testing.T) {
	records := []history.Record{&history.PhaseStart{Name: "churn", Kind: "churn", Pace: history.ByClients}}
	records = append(records, hold(0, 7, 0, 2*ms, 5*ms)...)
	records = append(records, hold(1, 9, ms, 8*ms, 20*ms)...)
	records = append(records,
		&history.Session{At: 3 * ms, Event: history.Suspended, Client: 2, Session: 3},
		&history.Window{Fault: "session.close", Target: "client 0", Client: 0, Start: 4 * ms, End: 6 * ms, Proof: "seen"},
		&history.Window{Fault: "member.pause", Target: "zk1", Client: -1, Start: 5 * ms, End: 9 * ms, Err: "no effect"},
		&history.PhaseEnd{Name: "churn", At: 25 * ms})
	f := written(t, history.Of(history.Header{Trial: "x", Cell: history.Cell{Subject: "lock/a", Clients: 3}}, records...))
	count := map[string]int{}
	for _, e := range f.Events {
		count[e.Phase+" "+e.Cat]++
		if e.Phase == "s" && (e.TID != grantsTID(0) || e.Time != 4999) {
			t.Errorf("the arrow begins at %+v, want inside of the first grant's last microsecond", e)
		}
	}
	for what, want := range map[string]int{"X call": 4, "X grant": 2, "X phase": 1, "b fault": 2, "e fault": 2, "s hand-off": 1, "f hand-off": 1, "i session": 1} {
		if count[what] != want {
			t.Errorf("%d of %q, want %d; there is %v", count[what], what, want, count)
		}
	}
}

// A real run, which stays in testdata of the command.
func TestWrite_ofARealTrial(t *testing.T) {
	h, err := history.Open("../../cmd/zkbench/testdata/run/history/herd-lock-predecessor-3.jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	f := written(t, h)
	clients, arrows := map[int]bool{}, 0
	for _, e := range f.Events {
		if e.Cat == "grant" {
			clients[e.TID] = true
		}
		if e.Phase == "f" {
			arrows++
		}
	}
	if len(clients) != 3 || arrows < 3 {
		t.Errorf("%d clients hold, and %d hand-offs; want 3 clients", len(clients), arrows)
	}
}
