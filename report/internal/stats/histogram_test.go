package stats

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestHistogram_keepsTheExactEnds(t *testing.T) {
	h := NewHistogram()
	for i := 1; i <= 1000; i++ {
		h.Record(time.Duration(i)*time.Millisecond + 1)
	}
	if h.Count() != 1000 || h.Min() != 1e6+1 || h.Max() != 1e9+1 || h.Mean() != 500.5e6+1 {
		t.Errorf("count %d min %v max %v mean %v", h.Count(), h.Min(), h.Max(), h.Mean())
	}
	for percent, want := range map[float64]float64{50: 500e6, 90: 900e6, 99: 990e6, 99.9: 999e6} {
		if got := h.Percentile(percent); math.Abs(got-want) > want/500 {
			t.Errorf("quantile %v %% is %v, want about %v", percent, got, want)
		}
	}
}

// At the 99th percentile of 192 values stands the 191st: 190 are less than 99 of 100.
func TestHistogram_aPercentileIsExceededByNoMore(t *testing.T) {
	h := NewHistogram()
	for i := 1; i <= 192; i++ {
		h.Record(time.Duration(i) * time.Second)
	}
	for percent, want := range map[float64]float64{50: 96, 99: 191, 99.5: 192, 100: 192} {
		if got := h.Percentile(percent) / 1e9; math.Abs(got-want) > 0.2 {
			t.Errorf("quantile %v %% of 1 s to 192 s is %v s, want %v", percent, got, want)
		}
	}
}

func TestHistogram_hasThreeFiguresOfShortTimesToo(t *testing.T) {
	for _, want := range []float64{12_345, 123_456, 777_777, 3_333_333} {
		h := NewHistogram()
		h.Record(0) // so that the ends, which are exact, say nothing
		for range 9 {
			h.Record(time.Duration(want))
		}
		h.Record(time.Second)
		if got := h.Percentile(50); math.Abs(got-want) > want/1000 {
			t.Errorf("the median of %v ns is %v", want, got)
		}
	}
}

func TestHistogram_takesWhatIsOutOfRange(t *testing.T) {
	h := NewHistogram()
	h.Record(-time.Second)
	h.Record(3 * time.Hour)
	if h.Count() != 2 || h.Min() != 0 || h.Max() != float64(3*time.Hour) {
		t.Errorf("count %d min %v max %v", h.Count(), h.Min(), h.Max())
	}
}

func TestHistograms_surviveTheirLog(t *testing.T) {
	a, b := NewHistogram(), NewHistogram()
	for i := range 5000 {
		a.Record(time.Duration(i) * time.Microsecond)
		b.Record(time.Duration(i) * time.Second)
	}
	write := func() []byte {
		var out bytes.Buffer
		if err := WriteHistograms(&out, map[string]*Histogram{"a": a, "b": b}, time.Minute); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	log := write()
	if !bytes.Equal(log, write()) {
		t.Error("writing twice gives different bytes")
	}
	got := map[string]*hdrhistogram.Histogram{}
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(log))
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		got[h.Tag()] = h
	}
	if len(got) != 2 {
		t.Fatalf("%d histograms came back", len(got))
	}
	for name, want := range map[string]*Histogram{"a": a, "b": b} {
		if !got[name].Equals(want.hdr) {
			t.Errorf("%s came back changed", name)
		}
	}
}
