//go:build linux

package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debianJar is ZooKeeper's jar of Debian's libzookeeper-java; its manifest names the jars that it
// needs, except a logger.
const debianJar = "/usr/share/java/zookeeper.jar"

// errNoJava means that there is no Java on this machine.
var errNoJava = errors.New("no java found on PATH or in JAVA_HOME (install default-jre-headless or use --ensemble container)")

// errNoZooKeeper means that there is no ZooKeeper on this machine.
var errNoZooKeeper = errors.New("no ZooKeeper found (install libzookeeper-java, set ZOOKEEPER_HOME to an unpacked distribution, or use --ensemble container)")

// Available returns nil if Start finds Java and ZooKeeper's jars, the jars of home if it is not empty.
func Available(home string) error {
	_, _, err := javaCommand(home)
	return err
}

// javaCommand returns java with the arguments of all members, and a line for users about the
// version.
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

// findZooKeeper returns the class path of the distribution at home, which may be the number of an
// installed version. Without one it is $ZOOKEEPER_HOME, or the newest installed version,
// Debian's package included.
func findZooKeeper(home string) (classPath, about string, err error) {
	home = cmp.Or(home, os.Getenv("ZOOKEEPER_HOME"), newest())
	if home != "" {
		if home, err = named(home); err != nil {
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
	// Not in its manifest: a logger, and the libraries of Netty for TLS.
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
