package clock

import "golang.org/x/sys/unix"

// Monotonic returns the reading of CLOCK_MONOTONIC, in ns. Most drivers read the same clock.
func Monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // always available on Linux
	return t.Nano()
}
