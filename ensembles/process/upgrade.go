//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/zkbench/zkbench/ensembles"
)

// versionWord begins the argument with the version of a JVM. Two versions may be the same build
// under two names.
const versionWord = "-Dzkbench.version="

func versionMark(v ensembles.Version) string { return versionWord + v.Name }

// Upgrade sets the version of the member's next start.
func (m *machine) Upgrade(_ context.Context, v ensembles.Version) error {
	command, _, err := javaCommand(v.From)
	if err != nil {
		return fmt.Errorf("upgrading %s to %s: %w", m.member.Name, v.Name, err)
	}
	return m.act("upgrading", func() error {
		if m.process.Alive() {
			return fmt.Errorf("it runs (process %d)", m.process.PID)
		}
		m.command = append(command, versionMark(v))
		return nil
	})
}

// Runs returns the version of the member's process, from its command line; if it does not run, that
// of its next start.
func (m *machine) Runs(context.Context) (name string, err error) {
	return name, m.act("finding the version of", func() error {
		arguments := m.command
		if m.process.Alive() {
			p, err := procfs.NewProc(m.process.PID)
			if err != nil {
				return err
			}
			if arguments, err = p.CmdLine(); err != nil {
				return err
			}
		}
		for _, a := range arguments {
			if after, ok := strings.CutPrefix(a, versionWord); ok {
				name = after
				return nil
			}
		}
		return errors.New("its process does not name one")
	})
}
