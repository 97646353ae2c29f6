package report

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/report/safefile"
)

// WriteFile writes a file atomically. name is a path below dir. A crash may leave a hidden
// temporary file next to it, which [Clear] removes. The folder is not trusted: nothing outside
// of it is written, even if it contains links.
func WriteFile(dir, name string, data []byte) error {
	return replace(dir, name, data, func(*os.File) error { return nil })
}

// writeSynced is like WriteFile, and the file survives a crash of the machine.
func writeSynced(dir, name string, data []byte) error {
	return replace(dir, name, data, (*os.File).Sync)
}

func replace(dir, name string, data []byte, sync func(*os.File) error) error {
	err := withRoot(dir, func(root *os.Root) error {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
		f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		err = errors.Join(err, sync(f), f.Close())
		if err == nil {
			err = root.Rename(temp, name)
		}
		if err != nil {
			return errors.Join(err, root.Remove(temp))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// withRoot calls do with the folder as a root that no link can leave.
func withRoot(dir string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}

// readFile reads a file below dir, without following links out of dir, which is not trusted.
func readFile(dir, name string) (data []byte, err error) {
	err = withRoot(dir, func(root *os.Root) error {
		if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() { // opening a named pipe would block
			return fmt.Errorf("%s is not a regular file (%v)", filepath.Join(dir, name), info.Mode().Type())
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = safefile.ReadFrom(f, safefile.Result)
		return err
	})
	return data, err
}

// Holds reports whether name, a path below dir, exists.
func Holds(dir, name string) bool {
	return withRoot(dir, func(root *os.Root) error { _, err := root.Stat(name); return err }) == nil
}

// Sweep removes the files in the folder name below dir for which former returns true.
func Sweep(dir, name string, former func(name string) bool) error {
	err := withRoot(dir, func(root *os.Root) error {
		entries, err := fs.ReadDir(root.FS(), name)
		for _, e := range entries {
			if e.Type().IsRegular() && former(e.Name()) {
				err = errors.Join(err, root.Remove(filepath.Join(name, e.Name())))
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove previous files in %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
