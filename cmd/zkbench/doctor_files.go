//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// openFiles returns how many files this process may have open: every client needs one.
func openFiles() finding {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return finding{what: "open files", result: findingWeak, seen: err.Error()}
	}
	return finding{"open files", weakIf(l.Cur < filesFew), fmt.Sprintf("up to %d", l.Cur),
		fmt.Sprintf("ulimit -n %d: more clients than that cannot connect", filesFew)}
}
