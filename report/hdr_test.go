package report

import (
	"bytes"
	"math"
	"testing"
	"time"
)

func TestHistogramKeepsTheExactEnds(t *testing.T) {
	h := NewHistogram()
	for i := 1; i <= 1000; i++ {
		h.Record(time.Duration(i)*time.Millisecond + 1)
	}
	m := h.Metric()
	if *m.Count != 1000 || *m.Min != 1e6+1 || *m.Max != 1e9+1 || *m.Mean != 500.5e6+1 {
		t.Errorf("count %d min %v max %v mean %v", *m.Count, *m.Min, *m.Max, *m.Mean)
	}
	for _, q := range []struct {
		got  *float64
		want float64
	}{{m.P50, 500e6}, {m.P90, 900e6}, {m.P99, 990e6}, {m.P999, 999e6}} {
		if math.Abs(*q.got-q.want) > q.want/500 {
			t.Errorf("quantile is %v, want about %v", *q.got, q.want)
		}
	}
}

func TestHistogramTakesWhatIsOutOfRange(t *testing.T) {
	h := NewHistogram()
	h.Record(-time.Second)
	h.Record(3 * time.Hour)
	if m := h.Metric(); *m.Count != 2 || *m.Min != 0 || *m.Max != float64(3*time.Hour) {
		t.Errorf("got %+v", m)
	}
}

func TestHistogramWithoutValuesHasNoQuantiles(t *testing.T) {
	if m := NewHistogram().Metric(); m.Count != nil || m.P50 != nil || m.Max != nil {
		t.Errorf("got %+v", m)
	}
}

func TestHistogramsSurviveTheirLog(t *testing.T) {
	a, b := NewHistogram(), NewHistogram()
	for i := range 5000 {
		a.Record(time.Duration(i) * time.Microsecond)
		b.Record(time.Duration(i) * time.Second)
	}
	write := func() []byte {
		var out bytes.Buffer
		if err := WriteHistograms(&out, map[string]*Histogram{HandoffLatency: a, FailoverLatency: b}, time.Minute); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	log := write()
	if !bytes.Equal(log, write()) {
		t.Error("writing twice gives different bytes")
	}
	got, err := ReadHistograms(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d histograms came back", len(got))
	}
	for name, want := range map[string]*Histogram{HandoffLatency: a, FailoverLatency: b} {
		if !got[name].hdr.Equals(want.hdr) {
			t.Errorf("%s came back changed", name)
		}
	}
}
