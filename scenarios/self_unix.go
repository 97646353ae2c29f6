//go:build unix

package scenarios

import "syscall"

// ownCPU returns the processor time of this process, in seconds.
func ownCPU() (seconds float64, ok bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	of := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }
	return of(u.Utime) + of(u.Stime), true
}
