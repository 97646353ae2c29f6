package clock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Skew is the name of the environment variable that falsifies the clocks of an agent and of our drivers
// in tests, by an offset and optionally a deviation of the rate: "5s" or "-2s,200ppm".
const Skew = "ZKBENCH_SKEW"

// LocalClock is the clock that this process reports to others: the machine's monotonic clock if that can be
// read, with the error of Skew.
type LocalClock struct {
	start   time.Time // when the clock's reading was raw
	raw     int64
	tooFast float64 // deviation of the rate: 0.001 gains 1 ms per second
}

// NewLocalClock returns a clock with the error skew, in the format of [Skew]; "" means no error.
func NewLocalClock(skew string) (LocalClock, error) {
	o := LocalClock{start: time.Now(), raw: Monotonic()}
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
func (o LocalClock) At(t time.Time) int64 {
	since := t.Sub(o.start)
	return o.raw + int64(since) + int64(float64(since)*o.tooFast)
}

var own, errOwn = NewLocalClock(os.Getenv(Skew))

// Reading returns the reading of this process's clock at t, in ns.
func Reading(t time.Time) int64 { return own.At(t) }

// CheckSkew returns an error if the value of [Skew] is invalid.
func CheckSkew() error { return errOwn }
