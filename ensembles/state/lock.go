package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Lock is the use of an ensemble by this process. The kernel ends it with the process at
// the latest.
type Lock struct{ file *os.File }

// ErrLocked says that others use an ensemble in a way that does not go with what was asked.
var ErrLocked = errors.New("the ensemble is in use")

// Keep keeps a folder for this process until release is called, or the process ends. It fails
// where another process keeps it.
func Keep(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(tryLock(f, true), errTaken) { // a file system without locks keeps nothing
		return nil, errors.Join(errors.New("another process is writing it"), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// Acquire locks an ensemble for this process: shared with others, or exclusive where what
// it is used for would disturb them. what says what for, in a word. The error wraps
// ErrLocked and names who is in the way.
func Acquire(id, what string, exclusive bool) (*Lock, error) {
	if err := open(); err != nil {
		return nil, fmt.Errorf("locking ensemble %s: %w", id, err)
	}
	f, err := openLocked(lockFile(id), exclusive)
	if errors.Is(err, errTaken) {
		return nil, fmt.Errorf("%w: %s, by %s", ErrLocked, id, strings.Join(users(lockFile(id)), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("locking ensemble %s: %w", id, err)
	}
	if exclusive { // whoever is named there is gone
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s\n", Self(), what)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking ensemble %s: %w", id, err), f.Close())
	}
	return &Lock{f}, nil
}

// openLocked opens the file, and locks it. One that its last user has removed meanwhile is
// opened anew.
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

// Release ends the use. The last user removes the file.
func (l *Lock) Release() error {
	var err error
	if tryLock(l.file, true) == nil {
		err = os.Remove(l.file.Name())
	}
	return errors.Join(err, l.file.Close())
}

// users names the living processes that have locked the file: "process 17 (churn)".
func users(name string) (found []string) {
	text, _ := os.ReadFile(name) // nobody is named then
	for line := range bytes.Lines(text) {
		who, what, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if p := ParseProcess(who); p.Alive() {
			found = append(found, fmt.Sprintf("process %d (%s)", p.PID, what))
		}
	}
	if len(found) == 0 {
		return []string{"a process that is not known here"}
	}
	return found
}
