//go:build linux

// Package process runs ensembles as local JVMs, from Debian's libzookeeper-java
// or from an unpacked ZooKeeper distribution.
//
//	e, err := process.Start(ctx, ensembles.Options{})
//	if err != nil {
//		return err
//	}
//	defer e.Down(context.WithoutCancel(ctx))
//
// Where we may (root, or CAP_NET_ADMIN and CAP_SYS_ADMIN) each member gets a
// network namespace, so that its network can be cut. Elsewhere members share
// 127.0.0.1 and only their processes can be hurt.
//
// The JVMs die with the process that started them, unless the ensemble is kept.
// What cannot die by itself (namespaces, folders) stands in the state registry
// before it is made, and [Sweep] removes it when its owner is dead.
package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Limits of one ensemble.
const (
	maxMembers   = 29               // what fits the subnet
	serveTimeout = 30 * time.Second // from the first JVM started to a quorum that serves
	downTimeout  = 10 * time.Second // for killed JVMs to be gone
)

// Start runs the members and returns when all of them serve. On an error nothing
// stays behind. The caller calls Down, unless the ensemble is to be kept.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	if o.Members < 0 || o.Members > maxMembers {
		return nil, fmt.Errorf("an ensemble of %d members: between 1 and %d are possible", o.Members, maxMembers)
	}
	logf := o.Logf
	if logf == nil {
		logf = func(string, ...any) {}
	}
	record, err := plan(o)
	if err != nil {
		return nil, err
	}
	l := newLocal(record)
	if err := l.start(ctx, logf); err != nil {
		return nil, errors.Join(err, l.down(ctx))
	}
	e := l.ensemble()
	e.Down = l.down
	logf("ensemble %s: %d local JVMs, ZooKeeper %s from %s", e.ID, len(e.Members), e.Version, record.About)
	return e, nil
}

// plan decides on everything about an ensemble but its network.
func plan(o ensembles.Options) (*state.Record, error) {
	command, about, err := javaCommand(o.Home)
	if err != nil {
		return nil, err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails: crypto/rand documents that it crashes the program instead
	r := &state.Record{
		ID:      hex.EncodeToString(id),
		Kind:    ensembles.Process,
		Owner:   state.Self(),
		Keep:    o.Keep,
		Created: time.Now(),
		About:   about,
		Tick:    o.Tick,
		Command: command,
	}
	if r.Tick == 0 {
		r.Tick = 2 * time.Second
	}
	if r.Tick < time.Millisecond {
		return nil, fmt.Errorf("a tick of %v: ZooKeeper counts ticks in whole milliseconds", r.Tick)
	}
	if o.Members == 0 {
		o.Members = 3
	}
	for i := range o.Members {
		r.Members = append(r.Members, state.Member{Name: fmt.Sprintf("zk%d", i+1), ID: i + 1})
	}
	r.Dir = filepath.Join(os.TempDir(), "zkbench-"+r.ID)
	return r, nil
}

// local is an ensemble of JVMs on this machine.
type local struct {
	record   *state.Record
	launcher *launcher
	machines []*machine
	used     *os.File // the lock of one who has attached; nil for the owner

	mu   sync.Mutex
	gone bool
}

func newLocal(r *state.Record) *local { return &local{record: r, launcher: newLauncher()} }

// start makes the network and the members, and waits until they serve.
func (l *local) start(ctx context.Context, logf func(string, ...any)) error {
	r := l.record
	if err := l.network(ctx, logf); err != nil {
		return err
	}
	for _, m := range r.Members {
		if err := writeConfig(r, m); err != nil {
			return err
		}
	}
	l.makeMachines()
	ctx, cancel := context.WithTimeoutCause(ctx, serveTimeout, fmt.Errorf("not within %v", serveTimeout))
	defer cancel()
	group, groupCtx := errgroup.WithContext(ctx)
	for _, m := range l.machines {
		group.Go(func() error { return m.Start(groupCtx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	e := l.ensemble()
	if err := ensembles.WaitServing(ctx, e); err != nil {
		return err
	}
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() {
			r.Version = s.Server.Version
		}
	}
	return state.Save(*r)
}

// network gives the members addresses: namespaces where we can have them, else loopback.
func (l *local) network(ctx context.Context, logf func(string, ...any)) error {
	r := l.record
	planNetwork(r)
	if err := state.Save(*r); err != nil {
		return err
	}
	err := setUpNetwork(ctx, r)
	if err == nil {
		logf("ensemble %s: each member has a network namespace of its own", r.ID)
		return state.Save(*r) // now with addresses
	}
	if ctx.Err() != nil {
		return err
	}
	logf("ensemble %s: all members share 127.0.0.1, so nobody can cut their network: %v", r.ID, err)
	unplanNetwork(r)
	if err := planLoopback(r); err != nil {
		return err
	}
	return state.Save(*r)
}

func (l *local) makeMachines() {
	for _, m := range l.record.Members {
		l.machines = append(l.machines, &machine{record: l.record, member: m, launcher: l.launcher})
	}
}

// ensemble is the plain data about it, without Down.
func (l *local) ensemble() *ensembles.Ensemble {
	r := l.record
	e := &ensembles.Ensemble{
		ID:      r.ID,
		Kind:    ensembles.Process,
		About:   fmt.Sprintf("local JVMs, ZooKeeper %s from %s", r.Version, r.About),
		Version: r.Version,
		Tick:    r.Tick,
	}
	for _, m := range l.machines {
		e.Members = append(e.Members, &ensembles.Member{
			Name:    m.member.Name,
			ID:      m.member.ID,
			Addr:    addr(m.member),
			IP:      m.member.IP,
			NetNS:   m.member.NetNS,
			Machine: m,
		})
	}
	return e
}

// down kills the members and removes everything of theirs. It does so for a
// cancelled context as well: being interrupted is no reason to leave things behind.
func (l *local) down(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	if err := remove(ctx, l.record); err != nil {
		return err
	}
	for _, m := range l.machines {
		if err := m.awaitEnd(ctx, "killing"); err != nil {
			return err
		}
	}
	l.launcher.stop()
	l.gone = true
	return nil
}

// letGo ends what we hold of an ensemble that goes on without us. Its JVMs have
// no Pdeathsig, since it is a kept one.
func (l *local) letGo(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil
	}
	l.launcher.stop()
	l.gone = true
	return l.used.Close()
}
