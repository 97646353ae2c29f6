//go:build linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/zkbench/zkbench/ensembles/state"
)

// versionNumber matches the name of a folder of versionsDir.
var versionNumber = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versionsDir is the folder of the distributions that .ci/versions installs, by version.
func versionsDir() string { return filepath.Join(state.Dir(), "versions", "zookeeper") }

// Versions returns the versions of ZooKeeper that .ci/versions has installed, oldest first.
func Versions() []string {
	dir, err := state.OpenDir(versionsDir()) // programs of another user are not run
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(name string) bool { return !versionNumber.MatchString(name) })
	slices.SortFunc(names, compareVersions)
	return names
}

// compareVersions compares version numbers such as 3.9.6; "" is the lowest.
func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// named returns the folder of an installed version, Debian's included, or home itself if it is not a
// version number or a folder of that name exists.
func named(home string) (string, error) {
	if _, err := os.Stat(home); err == nil || !versionNumber.MatchString(home) {
		return home, nil
	}
	all := Versions()
	switch {
	case slices.Contains(all, home):
		return filepath.Join(versionsDir(), home), nil
	case home == debianVersion():
		return filepath.Dir(debianJar), nil
	case len(all) == 0:
		return "", fmt.Errorf("ZooKeeper %s is not installed: make versions installs several versions in %s", home, versionsDir())
	}
	return "", fmt.Errorf("ZooKeeper %s is not installed; installed in %s: %s", home, versionsDir(), strings.Join(all, ", "))
}

// newest returns the folder of the newest installed version if it is newer than Debian's, or "".
func newest() string {
	all := Versions()
	if len(all) == 0 || compareVersions(all[len(all)-1], debianVersion()) <= 0 {
		return ""
	}
	return filepath.Join(versionsDir(), all[len(all)-1])
}

// debianVersion returns the version of Debian's package, or "".
func debianVersion() string {
	jars, _ := filepath.Glob(filepath.Join(filepath.Dir(debianJar), "zookeeper-[0-9]*.jar"))
	if len(jars) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "zookeeper-"), ".jar")
}
