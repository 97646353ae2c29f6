package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// encoded is the record's line.
func encoded(t interface{ Fatal(...any) }, r Record) []byte {
	if s, ok := r.(*Sample); ok {
		return appendSample(nil, s)
	}
	raw, err := appendRecord(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAppendSample_writesWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		want, err := json.Marshal(map[string]Record{"sample": s})
		if err != nil {
			t.Fatal(err)
		}
		if got := appendSample(nil, s); string(got) != string(want)+"\n" {
			t.Fatalf("got  %swant %s", got, want)
		}
	})
}

// A field that is not drawn is tested nowhere, and may be lost.
func TestDrawSample_drawsEveryField(t *testing.T) {
	drawn := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		v := reflect.ValueOf(*drawSample(t))
		for i := range v.NumField() {
			drawn[v.Type().Field(i).Name] = drawn[v.Type().Field(i).Name] || !v.Field(i).IsZero()
		}
	})
	for name, ever := range drawn {
		if !ever {
			t.Errorf("no sample has a %s", name)
		}
	}
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

func TestAppendRecord_refusesATypeThatIsNoKind(t *testing.T) {
	if _, err := appendRecord(nil, stranger{}); err == nil {
		t.Error("a type that is no kind of record is encoded")
	}
}

type stranger struct{}

func (stranger) Time() time.Duration { return 0 }

func drawSample(t *rapid.T) *Sample {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9/_."\\<>&é\n-]{0,20}`))
	number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
	call := drawTime(t, "call")
	return &Sample{
		Client: rapid.IntRange(-1, 500).Draw(t, "client"), Phase: text.Draw(t, "phase"), Round: rapid.IntRange(0, 3).Draw(t, "round"),
		Op: "op" + text.Draw(t, "op"), Due: drawTime(t, "due"), Call: call, Return: call + max(0, drawTime(t, "took")),
		Outcome: rapid.SampledFrom([]Outcome{OK, Failed, Unknown}).Draw(t, "outcome"),
		Token:   number.Draw(t, "token"), Own: rapid.Bool().Draw(t, "own"), Session: number.Draw(t, "session"), Path: text.Draw(t, "path"),
		Item: text.Draw(t, "item"), Version: number.Draw(t, "version"), Err: text.Draw(t, "err"),
		Clock: drawTime(t, "clock"), Zxid: number.Draw(t, "zxid"), Removed: text.Draw(t, "removed"), Notified: rapid.Bool().Draw(t, "notified"), Limit: drawTime(t, "limit"), Stuck: rapid.Bool().Draw(t, "stuck"), TimedOut: rapid.Bool().Draw(t, "timed out"), Canceled: rapid.Bool().Draw(t, "canceled"), Mode: text.Draw(t, "mode"),
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(`{"schema":"` + Schema + `","trial":"t"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"session":{"at":1,"event":"opened","client":0,"session":1}}` + "\n")
	for range 4 * textFloor / len(line) {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	records := 0
	for _, err = range r.Records() {
		if err != nil {
			break
		}
		records++
	}
	if !errors.Is(err, ErrExpands) || records > 2*textFloor/len(line) {
		t.Errorf("%d records were read: %v", records, err)
	}
}

// Whatever the fast way reads, encoding/json must read the same.
func agree(t interface{ Fatalf(string, ...any) }, raw []byte) (fast bool) {
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
