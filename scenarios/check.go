package scenarios

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/check"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
)

// CheckDriver starts an ensemble and checks the driver that args starts against each rule of the
// subject protocol. It calls each with every result. The driver's stderr goes to a file whose name
// begins with stderr; "" discards it. An error means that the ensemble does not serve.
func CheckDriver(ctx context.Context, args []string, o ensembles.Options, stderr string, each func(check.Step)) (err error) {
	e, err := auto.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runCleanup(e.Down)) }()
	return checkDriverOn(ctx, e, host.Command{Name: args[0], Args: args}, stderr, each)
}

func checkDriverOn(ctx context.Context, e *ensembles.Ensemble, c host.Command, stderr string, each func(check.Step)) (err error) {
	g := &checkEnvironment{observer: observer.NewObserver(e, sweepTimeout, e.Chroot+"/zkbench-check-"+randomID()), tap: wire.New(history.Start().Now)}
	g.tap.SetAdmit(observer.OwnProcesses(func(string, ...any) {}))
	g.tap.SetUpstream(observer.UpstreamOf(e))
	defer g.tap.Close()
	defer func() { err = errors.Join(err, g.observer.Close()) }()
	return check.Run(ctx, check.Config{Command: c, Stderr: stderr, Owner: state.Self().String(), Environment: g, Root: g.observer.Root}, each)
}

type checkEnvironment struct {
	observer *observer.Observer
	tap      *wire.Tap
}

func (g *checkEnvironment) Env(client int, path string) recipes.Env {
	c := g.tap.Client(client)
	e := g.observer.Ensemble
	return recipes.Env{
		Auth: observer.AuthFor(e), ACL: observer.ACLFor(e),
		Connect: func() (addrs []string, err error) {
			for _, server := range e.Servers() {
				addr, err := c.Listen(server, nil)
				if err != nil {
					return nil, err
				}
				addrs = append(addrs, addr)
			}
			return addrs, nil
		},
		Seen: func() recipes.Claim {
			n, _ := c.Node(path)
			return recipes.Claim{Session: c.Session().ID, Path: n.Path, Token: n.Czxid}
		},
	}
}

func (g *checkEnvironment) Make(ctx context.Context, path string) error {
	return g.observer.Open(ctx, path)
}

func (g *checkEnvironment) Look(ctx context.Context, path string) (data string, czxid, owner int64, err error) {
	err = g.observer.ReadCurrent(ctx, func(ctx context.Context, s *recipes.Session) error {
		b, stat, err := s.Get(ctx, path)
		if err == nil {
			data, czxid, owner = string(b), stat.Czxid, stat.EphemeralOwner
		}
		return err
	})
	return data, czxid, owner, err
}

func (g *checkEnvironment) Below(ctx context.Context, path string, session int64) (count int, err error) {
	nodes, err := g.observer.Nodes(ctx, path)
	return len(slices.DeleteFunc(nodes, func(n observer.Node) bool { return n.Owner != session })), err
}

func (g *checkEnvironment) Cut(client int) (restore func()) {
	c := g.tap.Client(client)
	c.SetGateClosed(true)
	c.Cut()
	return func() { c.SetGateClosed(false) }
}

func (g *checkEnvironment) End(ctx context.Context, client int) (err error) {
	s := g.tap.Client(client).Session()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, server := range g.observer.Ensemble.Servers() {
		if err = s.CloseAt(ctx, server); err == nil {
			return nil
		}
	}
	return err
}
