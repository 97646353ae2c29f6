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

// openFiles returns the number of files that this process may have open: its hard limit, to which
// the Go runtime has raised the soft limit. ok is false if the number is unknown.
func openFiles() (most int, ok bool) {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0, false
	}
	return int(min(uint64(l.Cur), 1<<31-1)), true
}
