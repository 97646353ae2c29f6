//go:build unix

package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
)

// keepOpen keeps a listener open for the process that replaces this one, and sets its environment
// variable.
func keepOpen(l net.Listener, at string) error {
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	fd, err := syscall.Dup(int(f.Fd())) // unlike f, it is not closed by exec
	if err != nil {
		return err
	}
	return os.Setenv(listenersKey+at, strconv.Itoa(fd))
}

// ownFile reports whether the file belongs to this user; a built-in scenario, which is not a file,
// does.
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
