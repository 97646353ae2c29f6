//go:build unix

package safefile

import (
	"os"
	"syscall"
)

// readFlags open a file for reading, without waiting for the other end of a named pipe.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
