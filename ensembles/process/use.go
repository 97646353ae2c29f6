//go:build linux

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Whoever attaches to an ensemble holds a shared lock on its folder, and whoever
// removes it an exclusive one. The kernel lets go of both when their holder dies,
// so that a crashed run never blocks a later one.

// use takes the shared lock. Closing the file gives it back.
func use(dir string) (*os.File, error) {
	f, err := lock(dir, syscall.LOCK_SH)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.New("somebody is removing it")
	}
	return f, err
}

// claim takes the exclusive lock; ok is false when somebody uses the ensemble, or
// removes it already. Without a folder there is nothing to lock, and f is nil.
func claim(dir string) (f *os.File, ok bool, err error) {
	f, err = lock(dir, syscall.LOCK_EX)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, false, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, true, nil
	}
	return f, err == nil, err
}

func lock(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
	}
	return f, nil
}
