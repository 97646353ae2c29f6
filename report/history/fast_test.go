package history

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

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
