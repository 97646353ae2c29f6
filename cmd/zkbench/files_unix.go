//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFile reports whether the file belongs to this user. It returns true for a built-in scenario, which
// is not a file.
func ownFile(path string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid()
}

// openFiles returns the finding about the limit of open files: every client needs an open file.
func openFiles() finding {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return finding{what: "open files", result: findingWeak, seen: err.Error()}
	}
	return finding{"open files", weakIf(l.Cur < minOpenFiles), fmt.Sprintf("up to %d", l.Cur),
		fmt.Sprintf("run ulimit -n %d: every client needs an open file", minOpenFiles)}
}
