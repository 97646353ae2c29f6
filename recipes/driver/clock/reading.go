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

// start is when this process's clock stood at startRaw.
var (
	start          = time.Now()
	startRaw       = Monotonic()
	ahead, tooFast = skewed(os.Getenv(Skew))
)

// Reading is what this process's clock, which it tells others, showed at t, in ns: where we can
// read it, the machine's monotonic clock.
func Reading(t time.Time) int64 {
	since := t.Sub(start)
	return startRaw + int64(since) + int64(ahead) + int64(float64(since)*tooFast)
}

// CheckSkew says what is wrong with the value of [Skew].
func CheckSkew() error {
	_, _, err := parseSkew(os.Getenv(Skew))
	return err
}

func skewed(text string) (ahead time.Duration, tooFast float64) {
	ahead, tooFast, err := parseSkew(text)
	if err != nil {
		return 0, 0 // CheckSkew says so
	}
	return ahead, tooFast
}

func parseSkew(text string) (ahead time.Duration, tooFast float64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	by, ppm, runs := strings.Cut(text, ",")
	if ahead, err = time.ParseDuration(by); err == nil && runs {
		tooFast, err = strconv.ParseFloat(strings.TrimSuffix(ppm, "ppm"), 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s is %q: want how far the clock is ahead, and by how many millionths it is too fast, like 5s,200ppm", Skew, text)
	}
	return ahead, tooFast / 1e6, nil
}
