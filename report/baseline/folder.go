package baseline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/safefile"
)

// Folder returns a store in a folder, which is created by the first write.
func Folder(dir string) Store { return folder(dir) }

type folder string

func (f folder) String() string { return "folder " + string(f) }

func (f folder) List() (names []string, err error) {
	err = fs.WalkDir(os.DirFS(string(f)), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

func (f folder) Read(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return safefile.Read(filepath.Join(string(f), filepath.FromSlash(name)), safefile.Result)
}

func (f folder) Write(name string, data []byte) error {
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return err
	}
	return report.WriteFile(string(f), filepath.FromSlash(name), data)
}
