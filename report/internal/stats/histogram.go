package stats

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and resolution of every histogram, in nanoseconds. Values outside the range are counted at
// its edge; the exact minimum and maximum are kept separately. The lowest value determines the finest
// step: for 1 µs it would be 512 ns, less than three digits below half a millisecond. With 1 ns a
// histogram takes 264 KiB.
const (
	lowest             = int64(1)
	highest            = int64(time.Hour)
	significantFigures = 3
)

// Histogram is a distribution of durations. It is not safe for concurrent use.
type Histogram struct {
	hdr      *hdrhistogram.Histogram
	min, max time.Duration // exact, unlike the buckets
	sum      float64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(lowest, highest, significantFigures), min: math.MaxInt64}
}

// Record adds one value. A negative value counts as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.min, h.max = min(h.min, d), max(h.max, d)
	h.sum += float64(d)
	// The value is in range, so this cannot fail.
	_ = h.hdr.RecordValue(min(int64(d), highest))
}

// Count returns the number of recorded values.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Min returns the smallest value, in nanoseconds. Min, Mean and Max are exact; if empty, undefined.
func (h *Histogram) Min() float64 { return float64(h.min) }

// Mean returns the average of all values, in nanoseconds.
func (h *Histogram) Mean() float64 { return h.sum / float64(h.Count()) }

// Max returns the largest value, in nanoseconds.
func (h *Histogram) Max() float64 { return float64(h.max) }

// Percentile returns the lowest value that at least the given percentage of all values do not exceed,
// in nanoseconds, with three significant digits.
func (h *Histogram) Percentile(percent float64) float64 {
	// The library rounds to the nearest rank, which may be lower.
	if n := float64(h.hdr.TotalCount()); n > 0 {
		percent = 100 * math.Ceil(percent/100*n-1e-9) / n
	}
	// The upper bound of a bucket may exceed the largest recorded value.
	return min(max(float64(h.hdr.ValueAtQuantile(percent)), float64(h.min)), float64(h.max))
}

// WriteHistograms writes an HdrHistogram V2 interval log with one line per histogram, tagged with
// its metric's name. length is the trial's length. The output is deterministic.
func WriteHistograms(out io.Writer, histograms map[string]*Histogram, length time.Duration) error {
	w := hdrhistogram.NewHistogramLogWriter(out)
	err := errors.Join(
		w.OutputComment("[zkbench: nanoseconds; times count from the start of the trial]"),
		w.OutputLogFormatVersion(), w.OutputLegend())
	for _, name := range slices.Sorted(maps.Keys(histograms)) {
		h := histograms[name].hdr
		h.SetTag(name)
		h.SetStartTimeMs(0)
		h.SetEndTimeMs(length.Milliseconds())
		err = errors.Join(err, w.OutputIntervalHistogram(h))
	}
	if err != nil {
		return fmt.Errorf("write histogram log: %w", err)
	}
	return nil
}
