package history

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const head = `{"schema":"zkbench.history/v3","trial":"t","subject":"lock/parent","clients":2,"seed":7}` + "\n"
const one = `{"session":{"at":1,"event":"opened","client":0}}` + "\n"

func squeeze(tb testing.TB, text string) []byte {
	tb.Helper()
	e, err := zstd.NewWriter(nil)
	must(tb, err)
	defer e.Close()
	return e.EncodeAll([]byte(text), nil)
}

// readAll returns the number of records before the error that ended the reading.
func readAll(raw []byte) (int, error) {
	r, err := NewReader(bytes.NewReader(raw))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n := 0
	for _, err := range r.Records() {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestReader_refusesWhatIsNotWhole(t *testing.T) {
	for _, c := range []struct {
		name, text string
		records    int
		want       string // in the error; empty for none
	}{
		{"a whole history is read to its end", head + one + one + `{"end":{"records":2}}` + "\n", 2, ""},
		{"a history without an end is cut short", head + one, 1, "truncated: the end line is missing (after record 1)"},
		{"half a line is cut short", head + one + one[:20], 1, "truncated: its last line is incomplete (after record 1)"},
		{"an end that counts more records than there are is refused", head + one + `{"end":{"records":2}}` + "\n", 1, "the end line counts 2 records, but 1 were read"},
		{"an instant that no trial reaches is refused", head + `{"phase.end":{"at":9223372036854775807,"phase":"p","index":0}}` + "\n", 0, "record 1: phase.end: At: 2562047h47m16.854775807s is longer than a trial"},
		{"wherever it stands", head + `{"failover":{"at":1,"granted":9223372036854775807}}` + "\n", 0, "record 1: failover: Granted: 2562047h47m16.854775807s is longer than a trial"},
		{"and in a sample of our own writing", head + `{"sample":{"client":0,"op":"acquire","due":-9000000000000000000,"call":1,"return":1,"outcome":"ok"}}` + "\n", 0, "record 1: sample that was due at -2500000h0m0s"},
		{"clients are told to stop before the end", head + `{"phase.end":{"at":5,"phase":"p","index":0,"stopped":6}}` + "\n", 0, "stopped at 6ns, after the phase's end at 5ns"},
		{"a phase ends before the next", head + `{"phase.start":{"at":5,"phase":"p","index":0,"kind":"churn","pace":"clients"}}` + "\n" + `{"phase.start":{"at":6,"phase":"q","index":1,"kind":"churn","pace":"clients"}}` + "\n", 1, `phase "q" begins before the end of phase "p"`},
		{"so is one before its start", head + `{"sample":{"op":"acquire","outcome":"ok","call":-9,"return":-8}}` + "\n", 0, "record 1: time -8ns"},
		{"phases follow each other", head + `{"phase.start":{"at":5,"phase":"p","index":0,"kind":"churn","pace":"clients"}}` + "\n" + `{"phase.end":{"at":4,"phase":"p","index":0}}` + "\n", 1, "phases must be in order"},
		{"nothing may follow the end", head + `{"end":{"records":0}}` + "\n" + one, 0, "the history has more data after its end line, at record"},
		{"broken JSON is named by its record", head + one + "{nope}\n" + one, 1, "record 2: invalid character"},
		{"a field that nobody knows is refused", head + `{"session":{"at":1,"event":"opened","client":0,"sesion":5}}` + "\n", 0, `record 1: session: json: unknown field "sesion"`},
		{"two records on one line are refused", head + `{"session":{"at":1},"fault":{"fault":"f"}}` + "\n", 0, "record 1: a line must have exactly one record, with its kind as the key, but this line has 2"},
		{"a line without a record is refused", head + "{}\n", 0, "record 1: a line must have exactly one record, with its kind as the key, but this line has 0"},
		{"a kind that nobody knows is refused", head + `{"note":{"at":1}}` + "\n", 0, `record 1: unknown kind of record "note"`},
		{"an outcome that nobody knows is refused", head + `{"sample":{"op":"acquire","outcome":"okay"}}` + "\n", 0, `record 1: sample with outcome "okay"`},
		{"a sample that returned before its call is refused", head + `{"sample":{"op":"acquire","outcome":"ok","call":5,"return":4}}` + "\n", 0, "record 1: sample that returned (4ns) before it was called (5ns)"},
		{"a line without end is refused before it fills the memory", head + `{"session":{"event":"` + strings.Repeat("x", lineLimit+1), 0, "record 1: the line is longer than"},
		{"two values on one line are refused", head + strings.TrimSpace(one) + one, 0, "record 1: more than one JSON value"},
		{"a newer history is refused for being newer", `{"schema":"zkbench.history/v4","trial":{}}` + "\n", 0, "upgrade"},
		{"an older history is refused for being older", `{"schema":"zkbench.history/v1","trial":"t"}` + "\n", 0, "an older zkbench"},
		{"another file is no history", `{"hello":"world"}` + "\n", 0, "not a zkbench history"},
		{"a misspelt header field is refused", `{"schema":"zkbench.history/v3","trail":"t"}` + "\n", 0, `unknown field "trail"`},
		{"an empty file is cut short", "", 0, "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := readAll(squeeze(t, c.text))
			if n != c.records {
				t.Errorf("%d records, want %d", n, c.records)
			}
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) && c.want != "" {
				t.Errorf("error %q, want %q in it", got, c.want)
			}
		})
	}
}

func TestReader_ofAFileCutAnywhereSaysTruncatedAndDeliversWhatIsWhole(t *testing.T) {
	text := head + strings.Repeat(one, 50) + `{"end":{"records":50}}` + "\n"
	half := len(head) + 25*len(one)
	raw := append(squeeze(t, text[:half]), squeeze(t, text[half:])...)
	firstFrame := len(squeeze(t, text[:half]))
	for cut := firstFrame; cut < len(raw); cut++ {
		n, err := readAll(raw[:cut])
		if !errors.Is(err, ErrTruncated) || n < 25 {
			t.Fatalf("cut at byte %d of %d: %d records, then %v", cut, len(raw), n, err)
		}
	}
}

// FuzzReader: whatever the bytes are, the reader ends, and numbers what it gives.
func FuzzReader(f *testing.F) {
	whole := squeeze(f, head+one+`{"sample":{"client":1,"op":"acquire","due":1,"call":1,"return":2,"outcome":"ok"}}`+"\n"+`{"end":{"records":2}}`+"\n")
	f.Add(whole, false)
	f.Add(whole[:len(whole)-3], false)
	f.Add([]byte(head+one+`{"end":{"records":1}}`+"\n"), true)
	f.Add([]byte(head+`{"fault":{"fault":"session.close","target":"client 1","client":1,"start":1,"end":2,"proof":"p"}}`), true)
	f.Fuzz(func(t *testing.T, raw []byte, plain bool) {
		if plain {
			raw = squeeze(t, string(raw))
		}
		r, err := NewReader(bytes.NewReader(raw))
		if err != nil {
			return
		}
		defer r.Close()
		last := 0
		for n, err := range r.Records() {
			if err != nil {
				return
			}
			if n.N != last+1 {
				t.Fatalf("record %d after %d", n.N, last)
			}
			last = n.N
			if s, ok := n.Record.(*Sample); ok && s.Return < s.Call {
				t.Fatalf("a sample that returned before its call: %+v", s)
			}
		}
	})
}
