package clock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Skew names the environment variable that makes the clocks of an agent and of our drivers wrong,
// for tests: an offset, and a deviation of the rate: "5s" or "-2s,200ppm".
const Skew = "ZKBENCH_SKEW"

// Own is this process's clock as reported to others: the machine's monotonic clock if it can be
// read, unless it is skewed.
type Own struct {
	start   time.Time // when it read raw
	raw     int64
	tooFast float64 // relative to 1
}

// NewOwn returns a clock with the error in skew, as for [Skew]; "" for none.
func NewOwn(skew string) (Own, error) {
	o := Own{start: time.Now(), raw: Monotonic()}
	if skew == "" {
		return o, nil
	}
	by, ppm, runs := strings.Cut(skew, ",")
	ahead, err := time.ParseDuration(by)
	if err == nil && runs {
		o.tooFast, err = strconv.ParseFloat(strings.TrimSuffix(ppm, "ppm"), 64)
	}
	if err != nil {
		return o, fmt.Errorf("%s is %q: want the offset of the clock and its drift in parts per million, for example 5s,200ppm", Skew, skew)
	}
	o.raw, o.tooFast = o.raw+int64(ahead), o.tooFast/1e6
	return o, nil
}

// At returns the clock's reading at t, in ns.
func (o Own) At(t time.Time) int64 {
	since := t.Sub(o.start)
	return o.raw + int64(since) + int64(float64(since)*o.tooFast)
}

var own, errOwn = NewOwn(os.Getenv(Skew))

// Reading returns the reading of this process's clock at t, in ns.
func Reading(t time.Time) int64 { return own.At(t) }

func CheckSkew() error { return errOwn }
