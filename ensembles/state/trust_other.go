//go:build !unix

package state

import (
	"fmt"
	"io/fs"
)

func ours(dir string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	return nil
}
