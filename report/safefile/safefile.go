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
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, limit)
}

// ReadFrom is like [Read] for an open file.
func ReadFrom(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%v)", f.Name(), info.Mode().Type())
	case info.Size() > limit:
		return nil, tooLarge(f.Name(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge(f.Name(), limit)
	}
	return data, err
}

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%w: %s has more than %d bytes", ErrTooLarge, name, limit)
}
