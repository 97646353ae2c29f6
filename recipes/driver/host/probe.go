package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// ErrExited is wrapped by the error of [Probe] for a program that exited before it answered hello.
var ErrExited = errors.New("the program ended before it answered hello")

// Probe starts the program on this machine, sends hello, and stops it, so that problems show before
// an ensemble is started. mark is the value of [Mark]. The error has the last lines of the
// program's stderr.
func Probe(c Command, mark string) error {
	p, err := Launch(c, site.Here{}, "", mark, nil)
	if err != nil {
		return err
	}
	if err = p.Greet(); err == nil {
		return p.Stop()
	}
	silent := p.lastSaid() == ""
	_ = p.Stop()
	if _, code := p.run.State(); silent && !p.killed && code != 0 {
		err = fmt.Errorf("%s: %w (%s)", c.Name, ErrExited, p.state)
	}
	if said := p.output.end(); said != "" {
		return fmt.Errorf("%w; it printed on stderr:\n  %s", err, strings.ReplaceAll(said, "\n", "\n  "))
	}
	return err
}
