//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

const (
	cfgFile = "zoo.cfg"
	logFile = "zookeeper.log"
)

func memberDir(r *state.Record, m state.Member) string { return filepath.Join(r.Dir, m.Name) }

func writeConfig(r *state.Record, m state.Member, files map[string][]byte) error {
	data := filepath.Join(memberDir(r, m), "data")
	err := os.MkdirAll(data, 0o755)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(memberDir(r, m), name), text, 0o600))
	}
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(m.ID)+"\n"), 0o644),
			os.WriteFile(filepath.Join(memberDir(r, m), cfgFile), []byte(zooCfg(r, m)), 0o644))
	}
	if err != nil {
		return fmt.Errorf("configuring %s: %w", m.Name, err)
	}
	return nil
}

func zooCfg(r *state.Record, m state.Member) string {
	dir := memberDir(r, m)
	lines := append([]string{"dataDir=" + filepath.Join(dir, "data")}, setup.SecureLines(r, m, dir)...)
	return setup.ZooCfg(r, m, m.NetNS != "", lines...)
}

// Save copies the member's configuration and log to dir.
func (m *machine) Save(_ context.Context, dir string) error {
	var errs []error
	for ending, name := range map[string]string{".cfg": cfgFile, ".log": logFile} {
		text, err := os.ReadFile(filepath.Join(memberDir(m.record, m.member), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, m.member.Name+ending), text, 0o644)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("saving configuration and log of %s: %w", m.member.Name, err)
	}
	return nil
}

// TxnLogs opens the member's transaction logs, whether it runs or not.
func (m *machine) TxnLogs(_ context.Context, after int64) ([]io.ReadCloser, error) {
	dir := filepath.Join(memberDir(m.record, m.member), "data", "version-2")
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has not started yet
	}
	if err != nil {
		return nil, fmt.Errorf("reading the transaction logs of %s: %w", m.member.Name, err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	var logs []io.ReadCloser
	for _, name := range txnlog.Select(names, after) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			for _, l := range logs {
				l.Close()
			}
			return nil, fmt.Errorf("reading the transaction logs of %s: %w", m.member.Name, err)
		}
		logs = append(logs, f)
	}
	return logs, nil
}
