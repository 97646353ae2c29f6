package foreign

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

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
