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

// WriteFile writes the file of that name, a path below dir, whole or not at all: whoever
// has the old one open never sees half of the new one, and when zkbench crashes either is
// there. A crash may leave a hidden file beside it, which [Clear] knows. The folder may be a
// stranger's: nothing outside of it is written, whatever links it holds.
func WriteFile(dir, name string, data []byte) error {
	return replace(dir, name, data, func(*os.File) error { return nil })
}

// writeSynced is WriteFile that outlives a crash of the machine as well.
func writeSynced(dir, name string, data []byte) error {
	return replace(dir, name, data, (*os.File).Sync)
}

func replace(dir, name string, data []byte, sync func(*os.File) error) error {
	err := within(dir, func(root *os.Root) error {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		half := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
		f, err := root.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		err = errors.Join(err, sync(f), f.Close())
		if err == nil {
			err = root.Rename(half, name)
		}
		if err != nil {
			return errors.Join(err, root.Remove(half))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// within calls do with the folder, of which no link leads out.
func within(dir string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}

// readFile reads the file of that name below dir, which may be a stranger's: no link in it
// leads out of it.
func readFile(dir, name string) (data []byte, err error) {
	err = within(dir, func(root *os.Root) error {
		if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() { // opening a named pipe would wait
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

// Holds says whether a run folder has something of that name, a path below it.
func Holds(dir, name string) bool {
	return within(dir, func(root *os.Root) error { _, err := root.Stat(name); return err }) == nil
}

// Sweep removes the files in a folder below dir for which former says so.
func Sweep(dir, name string, former func(name string) bool) error {
	err := within(dir, func(root *os.Root) error {
		entries, err := fs.ReadDir(root.FS(), name)
		for _, e := range entries {
			if e.Type().IsRegular() && former(e.Name()) {
				err = errors.Join(err, root.Remove(filepath.Join(name, e.Name())))
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sweep %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
