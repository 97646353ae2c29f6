//go:build linux

// Package process runs ensembles as local JVMs, from Debian's libzookeeper-java or from an unpacked
// ZooKeeper distribution.
//
// With sufficient permissions (root, CAP_NET_ADMIN and CAP_SYS_ADMIN, or inside namespaces of package
// rootless) each member gets a network namespace, so that its network can be cut. Otherwise members
// share 127.0.0.1, and faults can affect only their processes.
//
// The JVMs end with the process that started them, unless the ensemble is persistent. Namespaces
// and folders are recorded before they are created, and [Sweep] removes them when their owner is
// dead.
package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/units"
	"golang.org/x/sync/errgroup"
)

const (
	serveTimeout = 3 * time.Minute  // from the start of the first JVM until a quorum serves
	downTimeout  = 10 * time.Second // until killed JVMs have ended
)

// Start starts the members and returns when all of them serve. On an error it removes everything. The
// caller must call Down, unless the ensemble is persistent.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	record, err := setup.New(ensembles.Process, o)
	if err != nil {
		return nil, err
	}
	if record.Command, record.About, err = javaCommand(o.Home); err != nil {
		return nil, err
	}
	record.Command = slices.Insert(record.Command, 1, setup.Flags(record)...)
	// The name cannot be guessed, so the path cannot exist already.
	record.Dir = filepath.Join(os.TempDir(), record.Prefix()+rand.Text())
	logf := setup.Logf(o)
	l := &localEnsemble{record: record, versions: o.Versions, disks: o.Disks && !o.Keep && CheckDisks() == nil}
	e, err := l.start(ctx, logf)
	if err != nil {
		return nil, errors.Join(err, l.down(ctx))
	}
	e.Down = setup.Once(l.down)
	logf("ensemble %s: %d %s", e.ID, len(e.Members), e.About)
	return e, nil
}

type localEnsemble struct {
	record   *state.Record
	machines []*machine
	versions []ensembles.Version
	disks    bool // the members' disks can have faults
}

func (l *localEnsemble) start(ctx context.Context, logf func(string, ...any)) (*ensembles.Ensemble, error) {
	r := l.record
	if err := l.network(ctx, logf); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.Dir, 0o700); err != nil {
		return nil, err
	}
	secured, err := setup.Secure(r)
	if err != nil {
		return nil, err
	}
	for _, m := range r.Members {
		if err := writeConfig(r, m, secured.Files); err != nil {
			return nil, err
		}
	}
	e := l.ensemble()
	e.SetSecurity(secured.Security)
	if err := l.run(ctx, e); err != nil {
		return nil, err
	}
	r.Version = setup.Version(ctx, e)
	e.Version, e.About = r.Version, about(r)
	return e, state.Save(*r)
}

func (l *localEnsemble) run(ctx context.Context, e *ensembles.Ensemble) error {
	ctx, cancel := context.WithTimeoutCause(ctx, serveTimeout, fmt.Errorf("timed out after %v", serveTimeout))
	defer cancel()
	group, groupCtx := errgroup.WithContext(ctx)
	for _, m := range l.machines {
		group.Go(func() error { return m.Start(groupCtx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ensembles.WaitServing(ctx, e)
}

func (l *localEnsemble) network(ctx context.Context, logf func(string, ...any)) error {
	r := l.record
	planNetwork(r)
	if err := state.Save(*r); err != nil {
		return err
	}
	err := setUpNetwork(ctx, r)
	if err == nil {
		logf("ensemble %s: each member has a network namespace of its own", r.ID)
		return state.Save(*r) // the record now has the addresses
	}
	if ctx.Err() != nil {
		return err
	}
	logf("ensemble %s: all members share 127.0.0.1, so their networks cannot be cut: %v", r.ID, err)
	if err := useLoopback(r); err != nil {
		return err
	}
	return state.Save(*r)
}

func (l *localEnsemble) ensemble() *ensembles.Ensemble {
	e := l.record.Ensemble()
	e.About, e.Versions = about(l.record), l.versions
	command := l.record.Command
	if len(l.versions) > 0 {
		command = append(slices.Clone(command), versionMark(l.versions[0]))
	}
	for i, m := range l.record.Members {
		l.machines = append(l.machines, &machine{record: l.record, member: m, command: command})
		e.Members[i].Machine = l.machines[i]
		if l.disks {
			e.Members[i].Disk = new(ensembles.Disk)
			l.machines[i].disk = e.Members[i].Disk
		}
	}
	return e
}

func about(r *state.Record) string {
	return fmt.Sprintf("local JVMs, ZooKeeper %s from %s", r.Version, r.About)
}

// down works even if the context is cancelled: an interrupted run must leave nothing.
func (l *localEnsemble) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	if err := remove(l.record, true); err != nil {
		return err
	}
	for _, m := range l.machines {
		if err := m.withLock("killing", func() error { return m.awaitEnd(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// listens reports whether a TCP socket in the process's network namespace listens on the port. It
// queries the kernel, since a fault may block connections while a member starts.
func listens(pid, port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)) // if the process has ended, the file is missing and text is empty
		for line := range strings.Lines(string(text)) {
			// proc_net(5): the second column is the local address, HEX:HEXPORT, the fourth the
			// state, 0A for listening.
			columns := strings.Fields(line)
			if len(columns) > 3 && columns[3] == "0A" && strings.HasSuffix(columns[1], suffix) {
				return true
			}
		}
	}
	return false
}

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

func (m *machine) TxnLogs(_ context.Context, after int64) ([]io.ReadCloser, error) {
	dir := filepath.Join(memberDir(m.record, m.member), "data", "version-2")
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has not started yet
	}
	if err != nil {
		return nil, fmt.Errorf("reading the transaction logs of %s: %w", m.member.Name, err)
	}
	var logs []io.ReadCloser
	for _, name := range txnlog.Select(units.Names(files, fs.DirEntry.Name), after) {
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
