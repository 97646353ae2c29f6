package history

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The hand-written encoders must write what encoding/json would.
func TestEncodersWriteWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendRecord(nil, r); string(got) != string(want)+"\n" {
			t.Fatalf("got  %swant %s", got, want)
		}
	})
}

func TestWhatIsEncodedIsDecodedTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		raw := appendRecord(nil, r)
		l, err := decode(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !reflect.DeepEqual(l.Record, r) {
			t.Fatalf("%s came back as %+v", raw, l.Record)
		}
	})
}

func appendRecord(b []byte, r Record) []byte {
	switch {
	case r.Sample != nil:
		return appendSample(b, r.Sample)
	case r.Window != nil:
		return appendWindow(b, r.Window)
	}
	return appendNote(b, r.Note)
}

func drawRecord(t *rapid.T) Record {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9/_."\\<>&é\n-]{0,20}`))
	span := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(-1, 1<<50).Draw(t, "ns"))
	})
	number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		call := span.Draw(t, "call")
		return Record{Sample: &Sample{
			Client: rapid.IntRange(-1, 500).Draw(t, "client"), Phase: text.Draw(t, "phase"), Round: rapid.IntRange(0, 3).Draw(t, "round"),
			Op: "op" + text.Draw(t, "op"), Due: span.Draw(t, "due"), Call: call, Return: call + max(0, span.Draw(t, "took")),
			Outcome: rapid.SampledFrom([]Outcome{OK, Failed, Unknown}).Draw(t, "outcome"),
			Token:   number.Draw(t, "token"), Session: number.Draw(t, "session"), Path: text.Draw(t, "path"),
			Item: text.Draw(t, "item"), Version: number.Draw(t, "version"), Err: text.Draw(t, "err"),
		}}
	case 1:
		return Record{Window: &Window{
			Fault: text.Draw(t, "fault"), Target: text.Draw(t, "target"), Client: rapid.IntRange(-1, 9).Draw(t, "client"),
			Start: span.Draw(t, "start"), End: span.Draw(t, "end"), Proof: text.Draw(t, "proof"), Err: text.Draw(t, "err"),
		}}
	}
	var counts map[string]int64
	if rapid.Bool().Draw(t, "counted") {
		counts = map[string]int64{"handoffs": number.Draw(t, "count"), "a": 1}
	}
	return Record{Note: &Note{
		At: span.Draw(t, "at"), Kind: text.Draw(t, "kind"), Client: rapid.IntRange(-1, 9).Draw(t, "client"),
		Phase: text.Draw(t, "phase"), Round: rapid.IntRange(0, 3).Draw(t, "round"), Session: number.Draw(t, "session"),
		Token: number.Draw(t, "token"), Path: text.Draw(t, "path"), Timeout: span.Draw(t, "timeout"),
		Counts: counts, Text: text.Draw(t, "text"),
	}}
}
