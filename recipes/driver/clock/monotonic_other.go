//go:build !linux

package clock

// Monotonic returns -1: on this system the offset of drivers' clocks must be measured.
func Monotonic() int64 { return -1 }
