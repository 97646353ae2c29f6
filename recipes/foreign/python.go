package foreign

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
)

// python3 is the interpreter for which Debian's packages install their modules.
const python3 = "/usr/bin/python3"

var kazoo = &python{}

// python is kazoo: the library in Python.
type python struct {
	once  sync.Once
	fault error
}

func (p *python) Name() string { return "kazoo" }

func (p *python) Packages() []string { return []string{"python3-kazoo"} }

func (p *python) Missing() error {
	p.once.Do(func() {
		probe := exec.Command(python3, "-I", "-c", "import kazoo") // -I ignores modules in the current folder
		probe.Dir = "/"
		if said, err := probe.CombinedOutput(); err != nil {
			p.fault = missing(p, python3+" -c 'import kazoo': "+err.Error()+lastLine(said))
		}
	})
	return p.fault
}

func (p *python) Command(_ context.Context, file string) ([]string, error) {
	if err := p.Missing(); err != nil {
		return nil, err
	}
	dir, err := built(nil, "python")
	return []string{python3, filepath.Join(dir, file)}, err
}
