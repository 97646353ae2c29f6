package clock

import "golang.org/x/sys/unix"

// Monotonic is CLOCK_MONOTONIC in ns, which drivers read as well.
func Monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every Linux has it
	return t.Nano()
}
