//go:build unix

package state

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ours says why what the folder holds cannot be believed: it belongs to somebody else, or
// somebody else may write to it. What a record names is removed, and its command is run.
func ours(dir string, info fs.FileInfo) error {
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case int(owner) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, and this is user %d", dir, owner, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others (%v)", dir, info.Mode().Perm())
	}
	return nil
}
