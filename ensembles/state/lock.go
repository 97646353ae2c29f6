package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zkbench/zkbench/report/safefile"
)

// ErrLocked means that other processes use an ensemble in a conflicting way.
var ErrLocked = errors.New("the ensemble is in use")

// LockDir locks a folder until release is called or the process ends. It fails if another process has locked it.
func LockDir(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(tryLock(f, true), errTaken) { // other errors: the file system has no locks
		return nil, errors.Join(errors.New("another process is writing to it"), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// LockOwnDir opens a folder as [OpenDir] does and locks it, shared or exclusively, until it is closed or the
// process ends. For a conflict the error wraps ErrLocked.
func LockOwnDir(dir string, exclusive bool) (*os.File, error) {
	f, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, exclusive); err != nil {
		if errors.Is(err, errTaken) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// Acquire locks an ensemble for this process until release is called or the process ends: shared, or exclusive if
// its use would disturb others. what is the purpose, in one word. For a conflict the error wraps ErrLocked and
// names the processes.
func Acquire(id, what string, exclusive bool) (release func() error, err error) {
	if err := ensureDir(); err != nil {
		return nil, fmt.Errorf("locking ensemble %s: %w", id, err)
	}
	f, err := openLocked(lockFile(id), exclusive)
	if errors.Is(err, errTaken) {
		return nil, fmt.Errorf("%w: %s, by %s", ErrLocked, id, strings.Join(users(lockFile(id)), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("locking ensemble %s: %w", id, err)
	}
	if exclusive {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s\n", Self(), what)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking ensemble %s: %w", id, err), f.Close())
	}
	return func() error { return unlock(f) }, nil
}

// openLocked tries again if another process has removed the file in the meantime.
func openLocked(name string, exclusive bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		if err := tryLock(f, exclusive); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		locked, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(name); err == nil && os.SameFile(there, locked) {
			return f, nil
		}
		f.Close()
	}
}

// unlock releases the lock of an ensemble. The last process that releases it removes the lock file.
func unlock(f *os.File) error {
	var err error
	if tryLock(f, true) == nil {
		err = os.Remove(f.Name())
	}
	return errors.Join(err, f.Close())
}

// users returns the living processes that have locked the file, such as "process 17 (churn)".
func users(name string) (found []string) {
	text, _ := safefile.Read(name, safefile.Config) // if it cannot be read, no process is named
	for line := range bytes.Lines(text) {
		who, what, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if p := ParseProcess(who); p.Alive() {
			found = append(found, fmt.Sprintf("process %d (%s)", p.PID, what))
		}
	}
	if len(found) == 0 {
		return []string{"an unknown process"}
	}
	return found
}
