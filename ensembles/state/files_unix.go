//go:build unix

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwned returns an error if the folder belongs to another user or can be written by others. Records must
// be trusted: zkbench removes everything that a record lists, and runs its command.
func checkOwned(dir string, info fs.FileInfo) error {
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case int(owner) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, but zkbench runs as user %d", dir, owner, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s is writable by other users (%v)", dir, info.Mode().Perm())
	}
	return nil
}

// OpenDir opens a folder of this user, without following a symbolic link. The error wraps
// [ErrForeign] if the path is anything else, such as another user's folder or a named pipe.
func OpenDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EACCES) {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		err = fmt.Errorf("%w: %s", ErrForeign, dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func ownProcess(pid int) bool {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

var errTaken = syscall.EWOULDBLOCK

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
