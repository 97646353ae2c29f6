//go:build !linux

package clock

// Monotonic is not available on this system: the offset to drivers' clocks is measured.
func Monotonic() int64 { return -1 }
