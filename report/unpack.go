package report

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unpackLimit bounds what a packed run may come to: more than any run has, less than a disk.
const unpackLimit = 8 << 30 // bytes

// Unpack writes the one run folder of a zip file, as CI systems pack what a job leaves, into
// dir, which must be empty or missing. The file may be a stranger's: nothing outside of dir is
// written, and of the run folder nothing but what a run writes.
func Unpack(zipFile, dir string) (err error) {
	z, err := zip.OpenReader(zipFile)
	if err != nil {
		return fmt.Errorf("%s is no zip file that can be read: %w", zipFile, err)
	}
	defer z.Close()
	prefix, err := packedRun(&z.Reader)
	if err != nil {
		return fmt.Errorf("%s: %w", zipFile, err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("unpack %s: %s is not empty: name another folder with --into DIR, or play the folder itself again: zkbench rerun %s", zipFile, dir, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return within(dir, func(root *os.Root) error {
		left := int64(unpackLimit)
		for _, f := range z.File {
			name, inside := strings.CutPrefix(path.Clean(f.Name), prefix)
			first, _, _ := strings.Cut(name, "/")
			if !inside || !f.Mode().IsRegular() || !ours(first) {
				continue
			}
			n, err := unpackFile(root, filepath.FromSlash(name), f, left)
			if err != nil {
				return fmt.Errorf("unpack %s: %s: %w", zipFile, f.Name, err)
			}
			left -= n
		}
		return nil
	})
}

// packedRun returns what the names of the run folder's files begin with.
func packedRun(z *zip.Reader) (prefix string, err error) {
	var found []string
	for _, f := range z.File {
		if folder, file := path.Split(path.Clean(f.Name)); file == ScenarioFile && f.Mode().IsRegular() {
			found = append(found, folder)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("it holds no %s: it is no packed run folder", ScenarioFile)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("it holds %d run folders (%s): unpack it, and name one of them", len(found), strings.Join(found, ", "))
}

// unpackFile writes one file, and returns its size in bytes.
func unpackFile(root *os.Root, name string, f *zip.File, limit int64) (int64, error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("the run is larger than %d GiB", unpackLimit>>30)
	}
	return n, errors.Join(err, out.Close())
}
