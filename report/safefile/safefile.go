// Package safefile reads files that other users may control: in a temporary folder, in an unpacked
// run, or at a path from the command line.
//
//	text, err := safefile.Read("mine.yaml", safefile.Config)
package safefile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Size limits in bytes: for configuration files, and for the result of a run.
const (
	Config = 4 << 20
	Result = 256 << 20
)

// ErrTooLarge is wrapped by the error for a file that exceeds its size limit.
var ErrTooLarge = errors.New("the file is too large")

// Read returns the content of a regular file of at most limit bytes. For a named pipe, a device or a
// socket it returns an error without blocking.
func Read(path string, limit int64) ([]byte, error) {
	f, err := regular(os.OpenFile(path, readFlags, 0))
	if err != nil {
		return nil, err
	}
	return readAll(f, limit)
}

// ReadBelow is like [Read] for the file name below dir. It does not follow links out of dir.
func ReadBelow(dir, name string, limit int64) ([]byte, error) {
	f, err := OpenBelow(dir, name)
	if err != nil {
		return nil, err
	}
	return readAll(f, limit)
}

// OpenBelow opens the regular file name below dir for reading. It does not follow links out of dir.
func OpenBelow(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return regular(root.OpenFile(name, readFlags, 0))
}

// regular returns f if it is a regular file, and otherwise closes it.
func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file (%v)", f.Name(), info.Mode().Type())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	tooLarge := fmt.Errorf("%w: %s has more than %d bytes", ErrTooLarge, f.Name(), limit)
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, err
}
