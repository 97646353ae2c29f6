//go:build unix

package main

import (
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
