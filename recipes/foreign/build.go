package foreign

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed java/*/*.java python/*.py
var sources embed.FS

// buildDir returns a folder with the sources from folders and the output of build, which may be nil. The
// folder is created once for each content and version of the library, in the user's cache.
func buildDir(version string, build func(dir string) error, folders ...string) (string, error) {
	sum, err := digest(folders)
	if err != nil {
		return "", err
	}
	dir, err := cache()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, path.Base(folders[len(folders)-1])+version+"-"+sum)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, fill(dir, folders, build)
}

func digest(folders []string) (string, error) {
	sum := sha256.New()
	for _, folder := range folders {
		err := fs.WalkDir(sources, folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := sources.ReadFile(name)
			fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func stateDir() (string, error) {
	if dir := os.Getenv("ZKBENCH_STATE"); dir != "" {
		return dir, nil
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the folder for the drivers cannot be determined: %w (set ZKBENCH_STATE to choose one)", err)
	}
	return filepath.Join(home, "zkbench"), nil
}

// checkPrivate returns an error unless only the owner of dir may write to it: programs in it are run.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode()&0o022 != 0 {
		return fmt.Errorf("%s: other users can write to this folder, from which programs are run (remove it, or set ZKBENCH_STATE)", dir)
	}
	return nil
}

// cache creates the folder for build results, "drivers" in stateDir, and returns its path.
func cache() (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "drivers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create a folder for the drivers: %w (set ZKBENCH_STATE to a writable folder)", err)
	}
	return dir, checkPrivate(dir)
}

// fill creates dir completely or not at all. Several processes may do this at the same time.
func fill(dir string, folders []string, build func(dir string) error) error {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".half-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	for _, folder := range folders {
		files, err := fs.Sub(sources, folder)
		if err == nil {
			err = os.CopyFS(temporary, files)
		}
		if err != nil {
			return err
		}
	}
	if build != nil {
		if err := build(temporary); err != nil {
			return err
		}
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return err
		}
	}
	return nil
}

func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}
