package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile writes a file whole or not at all: whoever has the old one open never sees
// half of the new one, and when zkbench crashes either is there. A crash may leave a
// hidden file beside it, which [Clear] knows.
func WriteFile(path string, data []byte) error {
	return replace(path, data, func(*os.File) error { return nil })
}

// writeSynced is WriteFile that outlives a crash of the machine as well.
func writeSynced(path string, data []byte) error { return replace(path, data, (*os.File).Sync) }

func replace(path string, data []byte, sync func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), sync(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
