//go:build linux

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"golang.org/x/mod/semver"
)

// debianJar is ZooKeeper's jar in Debian's libzookeeper-java; its manifest lists the required jars,
// except a logger.
const debianJar = "/usr/share/java/zookeeper.jar"

var errNoJava = errors.New("no java found on PATH or in JAVA_HOME (install default-jre-headless or use --ensemble container)")

var errNoZooKeeper = errors.New("no ZooKeeper found (install libzookeeper-java, set ZOOKEEPER_HOME to an unpacked distribution, or use --ensemble container)")

// Available returns nil if Start finds Java and ZooKeeper's jars, the jars of home if it is not empty.
func Available(home string) error {
	_, _, err := javaCommand(home)
	return err
}

// javaCommand returns java with the arguments that all members share. about is for users.
func javaCommand(home string) (command []string, about string, err error) {
	java, err := findJava()
	if err != nil {
		return nil, "", err
	}
	classPath, about, err := findZooKeeper(home)
	if err != nil {
		return nil, "", err
	}
	return []string{java,
		"-Xmx512m", "-XX:+UseSerialGC",
		"-XX:-UsePerfData", // otherwise every killed JVM leaves a file in /tmp/hsperfdata_USER
		"-Djava.net.preferIPv4Stack=true",
		// One file per member, appended to over restarts: stderr, opened in machine.go.
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.showShortLogName=true",
		"-cp", classPath,
	}, about, nil
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if java, err := exec.LookPath(filepath.Join(home, "bin", "java")); err == nil {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", errNoJava
	}
	return java, nil
}

// findZooKeeper returns the class path of the distribution at home, a folder or the number of an
// installed version. If home is empty, it uses $ZOOKEEPER_HOME or the newest installed version,
// Debian's package included.
func findZooKeeper(home string) (classPath, about string, err error) {
	home = cmp.Or(home, os.Getenv("ZOOKEEPER_HOME"), newest())
	if home != "" {
		if home, err = resolveHome(home); err != nil {
			return "", "", err
		}
		return distribution(home)
	}
	if _, err := os.Stat(debianJar); err != nil {
		return "", "", errNoZooKeeper
	}
	return debian()
}

func debian() (classPath, about string, err error) {
	dir := filepath.Dir(debianJar)
	jars := []string{debianJar}
	// The manifest lacks a logger and the libraries of Netty for TLS.
	for _, name := range []string{"slf4j-simple.jar", "netty-codec.jar", "netty-resolver.jar"} {
		jars = append(jars, filepath.Join(dir, name))
	}
	return strings.Join(jars, ":"), debianJar, nil
}

// distribution returns the class path of an unpacked ZooKeeper 3.5 or later. Its conf folder comes
// first: it configures the logger in lib. A folder with Debian's jars works as well.
func distribution(home string) (classPath, about string, err error) {
	home, err = filepath.Abs(home)
	if err != nil {
		return "", "", fmt.Errorf("ZooKeeper distribution %s: %w", home, err)
	}
	if _, err := os.Stat(debianJar); err == nil && home == filepath.Dir(debianJar) {
		return debian()
	}
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("%w: the folder %s does not exist", errNoZooKeeper, home)
	}
	jars, err := filepath.Glob(filepath.Join(home, "lib", "zookeeper-[0-9]*.jar"))
	if err != nil || len(jars) == 0 {
		return "", "", fmt.Errorf("%w: %s has no lib/zookeeper-VERSION.jar", errNoZooKeeper, home)
	}
	return filepath.Join(home, "conf") + ":" + filepath.Join(home, "lib", "*"), home, nil
}

var versionNumber = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

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

// resolveHome returns the folder of an installed version, Debian's included, or home itself if it is not a
// version number or a folder of that name exists.
func resolveHome(home string) (string, error) {
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
		return "", fmt.Errorf("ZooKeeper %s is not installed: run \"make versions\" to install several versions in %s", home, versionsDir())
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

func debianVersion() string {
	jars, _ := filepath.Glob(filepath.Join(filepath.Dir(debianJar), "zookeeper-[0-9]*.jar"))
	if len(jars) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "zookeeper-"), ".jar")
}

// versionWord is the prefix of the JVM argument with the version's name. Two names may denote the same
// build.
const versionWord = "-Dzkbench.version="

func versionMark(v ensembles.Version) string { return versionWord + v.Name }

func (m *machine) Upgrade(_ context.Context, v ensembles.Version) error {
	command, _, err := javaCommand(v.From)
	if err != nil {
		return fmt.Errorf("upgrading %s to %s: %w", m.member.Name, v.Name, err)
	}
	return m.withLock("upgrading", func() error {
		if m.process.Alive() {
			return fmt.Errorf("it is running (process %d)", m.process.PID)
		}
		m.command = append(command, versionMark(v))
		return nil
	})
}

// CurrentVersion returns the version of the member's process or, if it is not running, of its next start.
func (m *machine) CurrentVersion(context.Context) (name string, err error) {
	return name, m.withLock("finding the version of", func() error {
		arguments := m.command
		if m.process.Alive() {
			arguments = m.process.Arguments()
		}
		for _, a := range arguments {
			if after, ok := strings.CutPrefix(a, versionWord); ok {
				name = after
				return nil
			}
		}
		return errors.New("its command line does not contain the version")
	})
}
