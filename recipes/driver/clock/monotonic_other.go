//go:build !linux

package clock

// Monotonic is no driver's clock here: its offset is measured.
func Monotonic() int64 { return -1 }
