package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const jarDir = "/usr/share/java" // Debian's folder of jars

// common are the jars against which the protocol is compiled. The logger among them prints the libraries'
// warnings to stderr.
var common = []string{"zookeeper.jar", "jackson-databind.jar", "jackson-core.jar", "slf4j-simple.jar"}

var (
	curator = &java{
		name: "Curator", id: "curator", packages: []string{"libcurator-recipes-java", "libcurator-framework-java"}, sources: "java/curator",
		jars: []string{"curator-recipes.jar", "curator-framework.jar", "curator-client.jar"},
	}
	zookeeper = &java{
		name: "ZooKeeper's recipes", id: "zookeeper", packages: []string{"libzookeeper-java"}, sources: "java/zookeeper",
		jars: []string{"zookeeper-recipes-lock.jar", "zookeeper-recipes-election.jar", "zookeeper-recipes-queue.jar"},
	}
)

type java struct {
	name     string
	id       string // folder of its installed versions
	release  string // installed by .ci/versions; "" is the newest on this machine
	packages []string
	sources  string   // folder of the drivers
	jars     []string // of the library
}

func (j *java) Name() string { return j.name }

func (j *java) Packages() []string { return append([]string{"default-jdk-headless"}, j.packages...) }

func (j *java) Missing() error {
	for _, program := range []string{"java", "javac"} {
		if _, err := find(program); err != nil {
			return missing(j, err.Error())
		}
	}
	if lib := j.lib(); lib != "" {
		_, err := os.Stat(lib)
		return err
	}
	for _, jar := range strings.Split(j.classPath(), ":") {
		if _, err := os.Stat(jar); err != nil {
			return missing(j, err.Error())
		}
	}
	return nil
}

func (j *java) folder() string { return j.id }

func (j *java) at(version string) Library {
	other := *j
	other.release = version
	return &other
}

func (j *java) lib() string {
	if release := cmp.Or(j.release, newest(j.id, j.system())); release != "" {
		return filepath.Join(versionDir(j.id, release), "lib")
	}
	return ""
}

func (j *java) classPath() string {
	if lib := j.lib(); lib != "" {
		return filepath.Join(lib, "*")
	}
	var paths []string
	for _, jar := range append(j.jars, common...) {
		paths = append(paths, filepath.Join(jarDir, jar))
	}
	return strings.Join(paths, ":")
}

func (j *java) version() string { return cmp.Or(j.release, newest(j.id, j.system()), j.system()) }

// system returns the version of Debian's package, or "". The name of a link to its first jar contains the version.
func (j *java) system() string {
	name := strings.TrimSuffix(j.jars[0], ".jar")
	named, _ := filepath.Glob(filepath.Join(jarDir, name+"-[0-9]*.jar"))
	if len(named) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(named[0]), name+"-"), ".jar")
}

func (j *java) Command(ctx context.Context, class string) ([]string, error) {
	if err := j.Missing(); err != nil {
		return nil, err
	}
	classes, err := buildDir("-"+j.version(), func(dir string) error { return j.compile(ctx, dir) }, "java/driver", j.sources)
	if err != nil {
		return nil, err
	}
	program, err := find("java")
	return []string{program,
		"-Xmx512m", "-XX:+UseSerialGC",
		"-XX:-UsePerfData",         // otherwise every killed JVM leaves a file in /tmp/hsperfdata_USER
		"-Dsun.net.inetaddr.ttl=0", // otherwise it keeps a member's address for 30 s (see the fault member.move)
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.ClientCnxn=error", // otherwise a page for every lost connection
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dlibrary.version=" + j.version(),
		"-cp", classes + ":" + j.classPath(), class,
	}, err
}

func (j *java) compile(ctx context.Context, dir string) error {
	sources, err := filepath.Glob(filepath.Join(dir, "*.java"))
	if err != nil {
		return err
	}
	compiler, err := find("javac")
	if err != nil {
		return err
	}
	args := append([]string{"--release", "11", "-proc:none", "-nowarn", "-d", dir, "-cp", j.classPath()}, sources...)
	if output, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the drivers of %s: %w\n%s", j.name, errors.Join(context.Cause(ctx), err), output)
	}
	return nil
}

func find(program string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path, err := exec.LookPath(filepath.Join(home, "bin", program)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s was not found on PATH or in JAVA_HOME", program)
	}
	return path, nil
}

const python3 = "/usr/bin/python3"

var kazoo = &python{}

type python struct {
	release string // installed by .ci/versions; "" is the newest on this machine

	once    sync.Once
	missing error
	system  string // version of the system's package
}

func (p *python) Name() string { return "kazoo" }

func (p *python) Packages() []string { return []string{"python3-kazoo"} }

func (p *python) folder() string { return "kazoo" }

func (p *python) at(version string) Library { return &python{release: version} }

func (p *python) path() string {
	if p.release == "" {
		p.probe()
	}
	if release := cmp.Or(p.release, newest("kazoo", p.system)); release != "" {
		return versionDir("kazoo", release)
	}
	return ""
}

func (p *python) version() string {
	p.probe()
	return cmp.Or(p.release, newest("kazoo", p.system), p.system)
}

func (p *python) probe() {
	p.once.Do(func() {
		probe := exec.Command(python3, "-I", "-c", "import kazoo.version; print(kazoo.version.__version__)") // -I ignores modules in the current folder
		probe.Dir = "/"
		output, err := probe.CombinedOutput()
		if err != nil {
			p.missing = missing(p, python3+" -c 'import kazoo': "+err.Error()+lastLine(output))
			return
		}
		p.system = strings.TrimSpace(string(output))
	})
}

func (p *python) Missing() error {
	if p.path() != "" {
		_, err := exec.LookPath(python3)
		return err
	}
	return p.missing
}

func (p *python) Command(_ context.Context, file string) ([]string, error) {
	if err := p.Missing(); err != nil {
		return nil, err
	}
	dir, err := buildDir("", nil, "python")
	command := []string{python3, filepath.Join(dir, file)}
	if path := p.path(); path != "" {
		command = append([]string{"/usr/bin/env", "PYTHONPATH=" + path, "PYTHONDONTWRITEBYTECODE=1"}, command...)
	}
	return command, err
}
