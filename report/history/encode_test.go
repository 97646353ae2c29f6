package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// tester is a testing.TB or a *rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// encoded is the record's line.
func encoded(t tester, r Record) []byte {
	if s, ok := r.(*Sample); ok {
		return appendSample(nil, s)
	}
	raw, err := appendRecord(nil, r)
	must(t, err)
	return raw
}

func TestAppendSample_writesWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		want, err := json.Marshal(map[string]Record{"sample": s})
		must(t, err)
		if got := appendSample(nil, s); string(got) != string(want)+"\n" {
			t.Fatalf("got  %swant %s", got, want)
		}
	})
}

func TestDecode_returnsWhatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		raw := encoded(t, r)
		got, end, err := decode(raw)
		if err != nil || end != nil {
			t.Fatalf("%s: %v, end %v", raw, err, end)
		}
		if !reflect.DeepEqual(got, r) {
			t.Fatalf("%s came back as %+v", raw, got)
		}
	})
}

// A struct that nobody put into the table of kinds would be a record that nobody can write.
func TestKinds_areEncodedAndDecoded(t *testing.T) {
	for kind, typ := range kinds {
		r := reflect.New(typ).Interface().(Record)
		if s, ok := r.(*Sample); ok {
			s.Op, s.Outcome = Acquire, OK
		}
		raw := encoded(t, r)
		got, _, err := decode(raw)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %s came back as %+v, %v", kind, raw, got, err)
		}
	}
}

// A sample in another order of fields is not decoded by the fast path.
func TestDecode_refusesUnknownOpsAndModes(t *testing.T) {
	for line, want := range map[string]string{
		`{"sample":{"client":0,"op":"steal","due":1,"call":1,"return":2,"outcome":"ok"}}`:                   `unknown op "steal" or mode ""`,
		`{"sample":{"op":"steal","client":0,"due":1,"call":1,"return":2,"outcome":"ok"}}`:                   `unknown op "steal" or mode ""`,
		`{"sample":{"client":0,"op":"acquire","due":1,"call":1,"return":2,"outcome":"ok","mode":"admire"}}`: `unknown op "acquire" or mode "admire"`,
		`{"sample":{"client":0,"op":"acquire","due":1,"call":1,"return":2,"outcome":"ok","mode":"read"}}`:   "",
	} {
		if _, _, err := decode([]byte(line)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func TestAppendRecord_refusesATypeThatIsNoKind(t *testing.T) {
	if _, err := appendRecord(nil, stranger{}); err == nil {
		t.Error("a type that is no kind of record is encoded")
	}
}

type stranger struct{}

func (stranger) Time() time.Duration { return 0 }

// drawSample draws every field, and restricts those of which not every value is allowed.
func drawSample(t *rapid.T) *Sample {
	s := rapid.Make[Sample]().Draw(t, "sample")
	s.Op, s.Mode = rapid.SampledFrom([]string{Acquire, Release, Put, Take, Write, Effect}).Draw(t, "op"), rapid.SampledFrom([]string{"", "read", "write"}).Draw(t, "mode")
	s.Outcome = rapid.SampledFrom([]Outcome{OK, Failed, Unknown}).Draw(t, "outcome")
	s.Due, s.Call, s.Clock, s.Limit = drawTime(t, "due"), drawTime(t, "call"), drawTime(t, "clock"), drawTime(t, "limit")
	s.Return = s.Call + drawTime(t, "took")
	return &s
}

func drawTime(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.Int64Range(0, 1<<48).Draw(t, name))
}

func drawRecord(t *rapid.T) Record {
	number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return drawSample(t)
	case 1:
		return &Window{Fault: "session.close", Target: "client 3 <holder>", Client: rapid.IntRange(-1, 9).Draw(t, "client"),
			Start: drawTime(t, "start"), End: drawTime(t, "end"), Proof: rapid.String().Draw(t, "proof")}
	case 2:
		return &Session{At: drawTime(t, "at"), Event: Suspended, Client: 3, Session: number.Draw(t, "session"), Token: number.Draw(t, "token")}
	case 3:
		return &Traffic{At: drawTime(t, "at"), Phase: "drain", Of: OfHandoff, Count: 9, Notifications: number.Draw(t, "notifications"),
			ExpectedNotifications: new(number.Draw(t, "expected"))}
	}
	return &Snapshot{Asked: drawTime(t, "asked"), At: drawTime(t, "at"), Path: "/l", Nodes: []SnapshotNode{{Path: "/l/n-1", Client: -1}},
		Waiters: []Waiter{{Client: 1, Watches: new(number.Draw(t, "watches"))}}}
}

// A small file that decompresses to gigabytes is given up soon.
func TestReader_givesUpOnWhatExpands(t *testing.T) {
	var file bytes.Buffer
	w, err := zstd.NewWriter(&file)
	must(t, err)
	_, err = w.Write([]byte(head))
	must(t, err)
	line := []byte(`{"sample":{"client":0,"op":"acquire","due":1,"call":1,"return":2,"outcome":"ok","path":"` + strings.Repeat("x", 10_000) + "\"}}\n")
	for range 2 * textFloor / len(line) {
		_, err := w.Write(line)
		must(t, err)
	}
	must(t, w.Close())
	if records, err := readAll(file.Bytes()); !errors.Is(err, ErrExpands) || records > 3*textFloor/2/len(line) {
		t.Errorf("%d records were read: %v", records, err)
	}
}

// Whatever the fast way reads, encoding/json must read the same.
func agree(t tester, raw []byte) (fast bool) {
	s, ok := fastSample(raw)
	if !ok {
		return false
	}
	var l struct {
		Sample *Sample `json:"sample"`
	}
	if err := strict(raw, &l); err != nil {
		t.Fatalf("%q: read as %+v, but encoding/json says %v", raw, s, err)
	}
	if !reflect.DeepEqual(l.Sample, s) {
		t.Fatalf("%q: read as %+v, but encoding/json says %+v", raw, s, l)
	}
	return true
}

func TestFastSample_agreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := appendSample(nil, drawSample(t))
		agree(t, raw[:len(raw)-1])
	})
}

func TestFastSample_readsTheUsual(t *testing.T) {
	s := sample(3, 123456)
	s.Session = 0x7f00000000000001
	raw := appendSample(nil, &s)
	if !agree(t, raw[:len(raw)-1]) {
		t.Errorf("%s takes the slow way", raw)
	}
}

func FuzzFastSample(f *testing.F) {
	s := sample(3, 7)
	raw := appendSample(nil, &s)
	f.Add(raw[:len(raw)-1])
	f.Add([]byte(`{"sample":{"client":-0,"op":"a","due":00,"call":1,"return":2,"outcome":"ok"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) { agree(t, raw) })
}
