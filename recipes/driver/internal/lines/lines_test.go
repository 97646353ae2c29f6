package lines

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestInt64_readsWhatDriversWrite(t *testing.T) {
	for text, want := range map[string]int64{
		`7`: 7, `-7`: -7, `"7"`: 7, `"-7"`: -7, `7.0`: 7, `7e3`: 7000, `"0x1F"`: 31, `"0X1f"`: 31, `"-0x1f"`: -31,
		`72057594037927937`: 72057594037927937, `"72057594037927937"`: 72057594037927937,
		`"0xffffffffffffffff"`: -1, `-9223372036854775808`: math.MinInt64,
	} {
		var got Int64
		if err := json.Unmarshal([]byte(text), &got); err != nil || int64(got) != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{`7.5`, `""`, `"x"`, `"0x"`, `true`, `72057594037927937.0`, `1e300`, `"0x1ffffffffffffffff"`} {
		var got Int64
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s was read as %d", text, got)
		}
	}
}

func TestParse_readsAnswersAndEvents(t *testing.T) {
	r, err := Parse([]byte(` {"id":3,"ok":{"protocol":1,"node":"/x","at":2,"called":1,"new":{}},"more":[]}`))
	if err != nil || *r.ID != 3 || r.OK.Hello.Protocol != 1 || r.OK.Node != "/x" || *r.OK.At != 2 || *r.OK.Called != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Parse([]byte(`{"event":"lost","client":7,"at":5}`))
	if err != nil || r.Event != "lost" || *r.Client != 7 || *r.At != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Parse([]byte(`{"id":3,"error":{"kind":"lost","text":"x","called":1,"at":2},"ok":null}`))
	if err != nil || r.Error.Kind != Lost || *r.Error.At != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"id":1,"ok":{}}`, `{"event":"lost","client":0}`, `{"id":"0x1","error":{"kind":"failed"}}`, `[]`, ``, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := Parse(line)
		switch {
		case err != nil:
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
		case r.Event == "" && (r.ID == nil || (r.OK == nil) == (r.Error == nil)):
			t.Errorf("%+v is neither an answer nor an event", r)
		}
	})
}
