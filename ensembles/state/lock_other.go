//go:build !unix

package state

import (
	"errors"
	"os"
)

var errTaken = errors.New("the file is locked")

func tryLock(*os.File, bool) error { return nil }
