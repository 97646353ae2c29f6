package draw

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// writeQueue writes the history of a queue: a drain, in which the harness sets the pace, and
// a stream of an item each 20 ms, of which a fault holds up those of its fourth second.
func writeQueue(t *testing.T, dir string, clients int) (name string) {
	t.Helper()
	name = fmt.Sprintf("queue-queue-parent-%d", clients)
	w, err := history.Create(report.HistoryPath(dir, name), history.Header{Trial: name, Cell: history.Cell{Scenario: "queue", Subject: "queue/parent", Clients: clients}})
	if err != nil {
		t.Fatal(err)
	}
	item := func(phase, id string, due, taken time.Duration) {
		w.Sample(history.Sample{Client: clients, Phase: phase, Op: history.Put, Item: id, Due: due, Call: due, Return: due + time.Millisecond, Outcome: history.OK})
		w.Sample(history.Sample{Phase: phase, Op: history.Take, Item: id, Due: due, Call: due, Return: taken, Outcome: history.OK})
	}
	w.Record(&history.PhaseStart{Name: "deliver", Kind: history.DrainPhase, Pace: history.ByHarness})
	item("deliver", "first", time.Second/2, time.Second/2+3*time.Millisecond)
	w.Record(&history.Traffic{Phase: "deliver", At: time.Second, Of: history.OfHandoff, Count: 1, Notifications: 1})
	w.Record(&history.PhaseEnd{Name: "deliver", At: time.Second})
	w.Record(&history.PhaseStart{Name: "stream", Index: 1, Kind: "stream", Pace: history.ByRate, At: time.Second})
	struck, healed := 4*time.Second, 5*time.Second
	w.Record(&history.Window{Fault: "session.close", Target: "client 1", Client: 1, Start: struck, End: healed, Proof: "seen"})
	for i := range 350 {
		due := time.Second + time.Duration(i)*20*time.Millisecond
		taken := due + 2*time.Millisecond
		if due >= struck && due < healed {
			taken = healed + time.Duration(i)*time.Microsecond
		}
		item("stream", fmt.Sprint(i), due, taken)
	}
	w.Record(&history.Traffic{Phase: "stream", At: 8 * time.Second, Of: history.OfItem, Count: 350})
	w.Record(&history.PhaseEnd{Name: "stream", Index: 1, At: 8 * time.Second})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRead_queue(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, report.HistoryDir), 0o755); err != nil {
		t.Fatal(err)
	}
	name := writeQueue(t, dir, 2)
	tr := read(report.HistoryPath(dir, name), report.Trial{Name: name, Cell: history.Cell{Clients: 2}}, "queue/parent")
	if !tr.Queue || len(tr.Handoffs) != 351 {
		t.Fatalf("queue %v, %d deliveries; want 351", tr.Queue, len(tr.Handoffs))
	}
	if h := tr.Handoffs[1]; h.At != time.Second+2*time.Millisecond || h.Latency != 2*time.Millisecond || h.Failover {
		t.Errorf("the first item of the stream: %+v, want 2 ms from due to taken", h)
	}
	if len(tr.Paces) != 1 {
		t.Fatalf("%d phases, want the stream alone: in the drain the harness sets the pace", len(tr.Paces))
	}
	p := tr.Paces[0]
	sum := 0
	for _, n := range p.Done {
		sum += n
	}
	if p.Start != time.Second || p.End != 8*time.Second || len(p.Done) != 70 || sum != 350 {
		t.Errorf("from %v to %v, %d slices, %d items", p.Start, p.End, len(p.Done), sum)
	}
	if p.Done[5] != 5 || p.Done[35] != 0 || p.Done[40] != 55 {
		t.Errorf("%d in a slice before the fault, %d in one within, %d at its end; want 5, 0 and all that waited", p.Done[5], p.Done[35], p.Done[40])
	}
}

// A history that is cut short says nothing about what would have come.
func TestPaces_cutShort(t *testing.T) {
	h := history.Of(history.Header{}, &history.PhaseStart{Name: "churn", Pace: history.ByClients, At: time.Second})
	c := newPaces(h)
	c.record(history.Numbered{Record: &history.Sample{Phase: "churn", Op: history.Acquire, Return: 1450 * time.Millisecond, Outcome: history.OK}})
	c.record(history.Numbered{Record: &history.Sample{Phase: "churn", Op: history.Acquire, Return: 1460 * time.Millisecond, Outcome: history.Unknown}})
	got := c.over(1460 * time.Millisecond)
	if len(got) != 1 || got[0].End != 1460*time.Millisecond || len(got[0].Done) != 5 || got[0].Done[4] != 1 {
		t.Errorf("%+v, want one grant, and an end where the history ends", got)
	}
}

// A queue has the plots over time that a lock has, with its faults.
func TestFolder_queue(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, report.HistoryDir), 0o755); err != nil {
		t.Fatal(err)
	}
	writeQueue(t, dir, 2)
	writeQueue(t, dir, 10)
	if _, err := report.Conclude(dir, report.Run{ID: "r1", Scenario: "queue"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"latency-queue-queue-parent-10.svg", "throughput-queue-queue-parent-2.png"} {
		if _, err := os.Stat(filepath.Join(dir, report.PlotDir, name)); err != nil {
			t.Error(err)
		}
	}
}
