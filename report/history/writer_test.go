package history

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func sample(client int, token int64) Sample {
	at := time.Duration(token) * time.Millisecond
	return Sample{
		Client: client, Phase: "churn", Op: Acquire, Due: at, Call: at, Return: at + 1, Outcome: OK,
		Token: token, Session: 1<<56 + int64(client), Path: "/zkbench/lock/_c_0123456789abcdef-lock-0000000001",
	}
}

func TestWriter_keepsEveryRecordOfManyGoroutinesInTheirOrder(t *testing.T) {
	const clients, each = 200, 500
	path := filepath.Join(t.TempDir(), "t.jsonl.zst")
	w, err := Create(path, Header{Trial: "t", Cell: Cell{Clients: clients}})
	must(t, err)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				w.Sample(sample(c, int64(i+1)))
			}
		})
	}
	wg.Wait()
	must(t, w.Close())
	if s := w.Stats(); s.Records != clients*each || s.Lost != 0 || s.Backlog != 0 || s.MaxBacklog == 0 {
		t.Errorf("stats %+v", s)
	}
	h, err := Open(path)
	must(t, err)
	last, count := map[int]int64{}, 0
	for n, err := range h.Records {
		must(t, err)
		if count++; n.N != count {
			t.Fatalf("record %d is numbered %d", count, n.N)
		}
		if s := n.Record.(*Sample); s.Token != last[s.Client]+1 {
			t.Fatalf("client %d: token %d after %d", s.Client, s.Token, last[s.Client])
		} else {
			last[s.Client] = s.Token
		}
	}
	if count != clients*each {
		t.Errorf("read %d records, want %d", count, clients*each)
	}
}

// full is a disk with room for so many bytes.
type full struct {
	room int
	got  bytes.Buffer
}

var errFull = errors.New("no space left on device")

func (d *full) Write(p []byte) (int, error) {
	if d.got.Len()+len(p) > d.room {
		n, _ := d.got.Write(p[:d.room-d.got.Len()])
		return n, errFull
	}
	return d.got.Write(p)
}

func TestWriter_onAFullDiskStopsTheTrialAndKeepsWhatWasWritten(t *testing.T) {
	disk := &full{room: 20_000}
	w, err := NewWriter(disk, Header{Trial: "t"})
	must(t, err)
	recorded := 0
	deadline := time.After(time.Minute)
	for broken := false; !broken; {
		select {
		case <-w.Broken():
			broken = true
		case <-deadline:
			t.Fatal("the writer never noticed that the disk is full")
		default:
			recorded++
			w.Sample(sample(recorded%7, int64(recorded)))
		}
	}
	if !errors.Is(w.Err(), errFull) {
		t.Errorf("Err is %v", w.Err())
	}
	w.Record(&Session{Event: Lost})
	recorded++
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close says %v", err)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close says %v the second time", err)
	}
	if s := w.Stats(); s.Lost == 0 || s.Records+s.Lost != recorded {
		t.Errorf("recorded %d, stats %+v", recorded, s)
	}
	read, last := readAll(disk.got.Bytes())
	if read == 0 || !errors.Is(last, ErrTruncated) {
		t.Errorf("read %d records, then %v", read, last)
	}
}

func TestWriter_framesAreReadableWhileTheTrialRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl.zst")
	w, err := Create(path, Header{Trial: "t"})
	must(t, err)
	defer w.Close()
	w.Sample(sample(1, 1))
	deadline, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-deadline:
			t.Fatal("after 30 s the record was not on disk")
		case <-tick.C:
		}
		raw, err := os.ReadFile(path)
		must(t, err)
		if n, err := readAll(raw); n == 1 && errors.Is(err, ErrTruncated) {
			return
		}
	}
}

func TestWriter_doesNotOverwriteAHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl.zst")
	must(t, os.WriteFile(path, []byte("precious"), 0o644))
	if _, err := Create(path, Header{}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("Create says %v", err)
	}
}

func TestWriter_countsRecordsAfterCloseAsLost(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{})
	must(t, err)
	w.Sample(sample(1, 1))
	must(t, w.Close())
	w.Sample(sample(1, 2))
	if s := w.Stats(); s.Records != 1 || s.Lost != 1 || w.Err() != nil {
		t.Errorf("stats %+v, error %v", s, w.Err())
	}
}

// What is measured must not pay for a collection that its own recording brings about.
// The writer's goroutine encodes meanwhile, and is counted too: it allocates now and
// then, for a batch, and never for each sample.
func TestWriter_allocatesNothingForASample(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{})
	must(t, err)
	defer w.Close()
	s := sample(1, 1)
	const samples = 1000
	each := testing.AllocsPerRun(10, func() {
		for range samples {
			w.Sample(s)
		}
		for w.Stats().Backlog > 0 {
			runtime.Gosched()
		}
	}) / samples
	if each > 0.01 {
		t.Errorf("%.3f allocations a sample, want none", each)
	}
}

// BenchmarkSample is what the measured path pays: it must not allocate. The
// callers pause where the writer is behind, as clients of a ZooKeeper do.
func BenchmarkSample(b *testing.B) {
	w, err := NewWriter(io.Discard, Header{})
	must(b, err)
	defer w.Close()
	s := sample(1, 1)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			w.Sample(s)
			for i%1024 == 0 && w.Stats().Backlog > 2*batchSize {
				runtime.Gosched()
			}
		}
	})
	b.ReportMetric(float64(w.Stats().MaxBacklog), "backlog-max")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
