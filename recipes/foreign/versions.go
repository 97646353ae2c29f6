package foreign

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"
)

// versionNumber matches the folder of an installed version.
var versionNumber = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// installed returns the versions of a library that .ci/versions has installed, oldest first.
func installed(library string) []string {
	dir, err := stateDir()
	if err != nil {
		return nil
	}
	for _, below := range []string{"", "versions", library} {
		dir = filepath.Join(dir, below)
		if private(dir) != nil {
			return nil
		}
	}
	entries, _ := os.ReadDir(dir)
	var versions []string
	for _, e := range entries {
		if e.IsDir() && versionNumber.MatchString(e.Name()) {
			versions = append(versions, e.Name())
		}
	}
	slices.SortFunc(versions, compareVersions)
	return versions
}

// versionDir returns the folder of an installed version.
func versionDir(library, version string) string {
	dir, _ := stateDir() // installed has found it
	return filepath.Join(dir, "versions", library, version)
}

// newest returns the newest installed version if it is newer than the system's, or "".
func newest(library, system string) string {
	all := installed(library)
	if len(all) == 0 || compareVersions(all[len(all)-1], system) <= 0 {
		return ""
	}
	return all[len(all)-1]
}

// compareVersions compares version numbers such as 5.7.1; "" is the lowest.
func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
