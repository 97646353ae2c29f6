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

	"github.com/zkbench/zkbench/report/safefile"
)

// unpackLimit is the largest size of an unpacked run: more than any run needs, less than a disk.
const unpackLimit = 8 << 30 // bytes

// Unpack extracts the single run folder of a zip file, such as a CI artifact, into dir, which
// must be empty or missing. The zip file is not trusted: nothing outside dir is written, and only
// files that zkbench writes are extracted.
func Unpack(zipFile, dir string) (err error) {
	file, size, err := safefile.Open(zipFile, unpackLimit)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("%s cannot be read as a zip file: %w", zipFile, err)
	}
	prefix, err := packedRun(z)
	if err != nil {
		return fmt.Errorf("%s: %w", zipFile, err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("unpack %s: %s is not empty: choose another folder with --into DIR, or rerun the existing folder: zkbench rerun %s", zipFile, dir, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return withRoot(dir, func(root *os.Root) error {
		remaining := int64(unpackLimit)
		for _, f := range z.File {
			name, inside := strings.CutPrefix(path.Clean(f.Name), prefix)
			first, _, _ := strings.Cut(name, "/")
			if !inside || !f.Mode().IsRegular() || !writtenByRun(first) {
				continue
			}
			n, err := unpackFile(root, filepath.FromSlash(name), f, remaining)
			if err != nil {
				return fmt.Errorf("unpack %s: %s: %w", zipFile, f.Name, err)
			}
			remaining -= n
		}
		return nil
	})
}

// packedRun returns the path prefix of the run folder in the zip file.
func packedRun(z *zip.Reader) (prefix string, err error) {
	var found []string
	for _, f := range z.File {
		if folder, file := path.Split(path.Clean(f.Name)); file == ScenarioFile && f.Mode().IsRegular() {
			found = append(found, folder)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("it does not contain a run folder (no %s)", ScenarioFile)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("it contains %d run folders (%s): unpack it and rerun one of them", len(found), strings.Join(found, ", "))
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
