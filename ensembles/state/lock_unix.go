//go:build unix

package state

import (
	"errors"
	"os"
	"syscall"
)

var errTaken = syscall.EWOULDBLOCK

// tryLock locks an open file, or returns errTaken. Closing the file unlocks it.
func tryLock(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
