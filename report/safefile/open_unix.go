//go:build unix

package safefile

import (
	"os"
	"syscall"
)

// open opens a file for reading. It does not wait for the other end of a named pipe.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
