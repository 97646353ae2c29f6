//go:build !linux

package host

// monotonic is no driver's clock here: its offset is measured.
func monotonic() int64 { return -1 }
