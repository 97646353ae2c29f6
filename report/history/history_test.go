package history

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestOpen_readsAHistoryAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl.zst")
	records := []Record{&PhaseStart{At: 1, Name: "churn", Kind: "churn", Pace: ByClients},
		&Session{At: 2, Event: Opened, Client: 1, Session: 7, Timeout: 4e9}}
	const samples = 10_000
	for i := range samples {
		s := sample(i%50, int64(i+1))
		records = append(records, &s)
		if i == 10 || i == samples-10 {
			records = append(records, &Window{Fault: "session.close", Client: 1, Start: 5, End: 6, Proof: "seen"})
		}
	}
	write(t, path, append(records, &PhaseEnd{At: 9, Name: "churn"})...)
	h, err := Open(path)
	must(t, err)
	if len(h.Faults) != 2 || len(h.Phases) != 1 || h.Phases[0].End != 9 || h.Timeout != 4e9 {
		t.Errorf("known beforehand: faults %v, phases %v, timeout %v", h.Faults, h.Phases, h.Timeout)
	}
	for range 2 {
		want, faults := 0, 0
		for n, err := range h.Records {
			must(t, err)
			want++
			if n.N != want || n.Record == nil {
				t.Fatalf("record %d is numbered %d: %v", want, n.N, n.Record)
			}
			if _, is := n.Record.(*Window); is {
				faults++
			}
			if s, is := n.Record.(*Sample); is && n.N == 100 && !reflect.DeepEqual(*s, sample(46, 97)) {
				t.Errorf("record 100 is %+v", s)
			}
		}
		if want != samples+5 || faults != 2 {
			t.Errorf("%d records, %d faults, want %d and 2", want, faults, samples+5)
		}
	}
}
