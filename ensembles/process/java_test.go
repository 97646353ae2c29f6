//go:build linux

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestAvailable_saysWhatIsMissing(t *testing.T) {
	t.Run("no Java", func(t *testing.T) {
		t.Setenv("JAVA_HOME", "")
		t.Setenv("PATH", t.TempDir())
		check.Error(t, Available(""), "no java found", "default-jre-headless")
		_, err := Start(t.Context(), ensembles.Options{})
		check.Error(t, err, "no java found")
	})
	t.Run("Java of JAVA_HOME when PATH has none", func(t *testing.T) {
		home := t.TempDir()
		script(t, filepath.Join(home, "bin", "java"), "exit 0")
		t.Setenv("PATH", "")
		t.Setenv("JAVA_HOME", home)
		check.OK(t, Available(""))
	})
	t.Run("no ZooKeeper where ZOOKEEPER_HOME leads", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("ZOOKEEPER_HOME", home)
		check.Error(t, Available(""), "no ZooKeeper found", home)
	})
}

// TestStart_runsADistribution runs a member from the layout of Apache's archive, made
// of the jars that are here.
func TestStart_runsADistribution(t *testing.T) {
	needsDebians(t)
	home := t.TempDir()
	check.OK(t, os.MkdirAll(filepath.Join(home, "lib"), 0o755))
	check.OK(t, os.MkdirAll(filepath.Join(home, "conf"), 0o755))
	for name, jar := range map[string]string{"zookeeper-3.8.0.jar": debianJar, "slf4j-simple.jar": "/usr/share/java/slf4j-simple.jar"} {
		check.OK(t, os.Symlink(jar, filepath.Join(home, "lib", name)))
	}
	e := up(t, ensembles.Options{Members: 1, Home: home})
	if !strings.Contains(e.About, home) {
		t.Errorf("about: %s", e.About)
	}
}

// needsDebians skips a test that is about the jars of Debian's package where those are not.
func needsDebians(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(debianJar); err != nil {
		t.Skipf("libzookeeper-java is not installed: %v", err)
	}
}

func TestUpgrade_refusesWhatCannotBe(t *testing.T) {
	p, err := state.Find(os.Getpid())
	check.OK(t, err)
	m := &machine{member: state.Member{Name: "zk1"}, command: []string{"java", versionMark(ensembles.Version{Name: "old"})}}
	if name, err := m.CurrentVersion(t.Context()); err != nil || name != "old" {
		t.Errorf("a member that is down is %s, %v", name, err)
	}
	for _, test := range []struct {
		process state.Process
		to      ensembles.Version
		want    string
	}{
		{p, ensembles.Version{Name: "new", From: "/usr/share/java"}, "upgrading zk1: it is running"},
		{state.Process{}, ensembles.Version{Name: "new", From: t.TempDir()}, "upgrading zk1 to new: no ZooKeeper found"},
	} {
		m.process = test.process
		check.Error(t, m.Upgrade(t.Context(), test.to), test.want)
	}
	m.process = p // this test, whose command line names no version
	_, err = m.CurrentVersion(t.Context())
	check.Error(t, err, "does not contain the version")
}

func TestStart_showsWhyTheServerEnded(t *testing.T) {
	home := t.TempDir()
	script(t, filepath.Join(home, "bin", "java"), "echo no room for the heap >&2; exit 1")
	t.Setenv("JAVA_HOME", home)
	_, err := Start(t.Context(), ensembles.Options{Members: 1})
	check.Error(t, err, "zk1", "ended at once", "no room for the heap")
	if records, err := state.List(); err != nil || len(records) > 0 {
		t.Errorf("left behind: %+v, %v", records, err)
	}
}

func script(t *testing.T, name, text string) {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
	check.OK(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

func TestVersions_areFoundByNumber(t *testing.T) {
	needsDebians(t)
	t.Setenv("ZOOKEEPER_HOME", "")
	state := t.TempDir()
	t.Setenv("ZKBENCH_STATE", state)
	for _, version := range []string{"3.9.6", "3.10.0", "3.9.3", "newest"} {
		lib := filepath.Join(state, "versions", "zookeeper", version, "lib")
		check.OK(t, os.MkdirAll(lib, 0o755))
		check.OK(t, os.WriteFile(filepath.Join(lib, "zookeeper-"+version+".jar"), nil, 0o644))
	}
	if got := Versions(); !slices.Equal(got, []string{"3.9.3", "3.9.6", "3.10.0"}) {
		t.Errorf("versions %v", got)
	}
	for home, want := range map[string]string{
		"": "zookeeper/3.10.0/lib", "3.9.3": "zookeeper/3.9.3/lib", debianVersion(): "/usr/share/java",
	} {
		if got, _, err := findZooKeeper(home); err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %s, %v; want %s", home, got, err, want)
		}
	}
	_, _, err := findZooKeeper("3.9.7")
	check.Error(t, err, "ZooKeeper 3.9.7 is not installed; installed in "+state)
	if os.Geteuid() == 0 { // programs of another user are not run
		check.OK(t, os.Chown(filepath.Join(state, "versions", "zookeeper"), 65534, 65534))
		if got := Versions(); got != nil {
			t.Errorf("another user's folder: %v", got)
		}
	}
}
