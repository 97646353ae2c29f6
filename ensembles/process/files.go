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

	"github.com/zkbench/zkbench/ensembles/txnlog"
)

// Save copies the member's configuration and log to dir.
func (m *machine) Save(_ context.Context, dir string) error {
	from := memberDir(m.record, m.member)
	err := errors.Join(
		copyFile(filepath.Join(dir, m.member.Name+".cfg"), filepath.Join(from, cfgFile)),
		copyFile(filepath.Join(dir, m.member.Name+".log"), filepath.Join(from, logFile)))
	if err != nil {
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

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
