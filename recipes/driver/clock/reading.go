package clock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Skew names the environment variable that makes the clocks of an agent and of our drivers
// wrong, to try out what that does: by how much they are ahead, and by how many millionths
// they run too fast: "5s" or "-2s,200ppm".
const Skew = "ZKBENCH_SKEW"

// Own is this process's clock, as it is told to others: where we can read it, the machine's
// monotonic clock, unless it is skewed.
type Own struct {
	start   time.Time // when it stood at raw
	raw     int64
	tooFast float64 // of 1
}

// NewOwn returns a clock that is wrong by what skew says, as [Skew] does; "" is right.
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
		return o, fmt.Errorf("%s is %q: want how far the clock is ahead, and by how many millionths it is too fast, like 5s,200ppm", Skew, skew)
	}
	o.raw, o.tooFast = o.raw+int64(ahead), o.tooFast/1e6
	return o, nil
}

// At is what the clock showed at t, in ns.
func (o Own) At(t time.Time) int64 {
	since := t.Sub(o.start)
	return o.raw + int64(since) + int64(float64(since)*o.tooFast)
}

// own is the clock of this process.
var own, errOwn = NewOwn(os.Getenv(Skew))

// Reading is what this process's clock showed at t, in ns.
func Reading(t time.Time) int64 { return own.At(t) }

// CheckSkew says what is wrong with the value of [Skew].
func CheckSkew() error { return errOwn }
