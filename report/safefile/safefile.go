// Package safefile reads files that somebody else may have put in place: in a temporary folder, in
// an unpacked run, or at a path from the command line.
//
//	text, err := safefile.Read("mine.yaml", safefile.Config)
package safefile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Limits on the size of a file, in bytes.
const (
	Config = 4 << 20   // what a person writes: a scenario, an ensemble, a certificate
	Result = 256 << 20 // what a run concluded
)

// ErrTooLarge is wrapped by the error of a file that is larger than its limit.
var ErrTooLarge = errors.New("the file is too large")

// Read returns the content of a regular file of at most limit bytes. A named pipe, a device or a
// socket is refused without waiting for it.
func Read(path string, limit int64) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, limit)
}

// ReadFrom is [Read] of a file that is open.
func ReadFrom(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%v)", f.Name(), info.Mode().Type())
	}
	if info.Size() > limit {
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
