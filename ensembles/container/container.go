package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/image"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// defaultImage is used unless the user names an image, if it can be pulled.
const defaultImage = "zookeeper:3.9"

// localImage is used if defaultImage cannot be pulled; package image builds it.
const localImage = image.Name

const (
	createTimeout = time.Minute
	serveTimeout  = 60 * time.Second
	removeTimeout = time.Minute
)

// Start starts the members and returns when all of them serve. On an error it removes everything. The
// caller must call Down, unless the ensemble is persistent.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	record, err := setup.New(ensembles.Container, o)
	if err != nil {
		return nil, err
	}
	docker, err := Docker(ctx)
	if err != nil {
		return nil, err
	}
	p := newEnsemble(record, docker)
	p.logf, p.versions = setup.Logf(o), o.Versions
	e, err := p.prepareAndStart(ctx, o.Image)
	if err != nil {
		return nil, errors.Join(err, p.down(ctx))
	}
	e.Down = setup.Once(p.down)
	p.logf("ensemble %s: %s", e.ID, e.About)
	return e, nil
}

type ensemble struct {
	*state.Record // its About is the image
	docker        *client.Client
	network       string
	direct        bool // clients dial the containers' own addresses
	secured       setup.Secured
	versions      []ensembles.Version
	logf          func(string, ...any)
}

func newEnsemble(r *state.Record, docker *client.Client) *ensemble {
	return &ensemble{Record: r, docker: docker, network: "zkbench-" + r.ID, logf: func(string, ...any) {}}
}

func (p *ensemble) prepareAndStart(ctx context.Context, wantedImage string) (*ensembles.Ensemble, error) {
	var err error
	if p.direct, err = dialsDirectly(ctx, p.docker); err != nil {
		return nil, err
	}
	if p.About, err = pickImage(ctx, p.docker, wantedImage, p.logf); err != nil {
		return nil, err
	}
	return p.start(ctx)
}

// down removes everything, even if the context is cancelled: an interrupted run must leave nothing.
func (p *ensemble) down(ctx context.Context) error {
	if err := remove(ctx, p.docker, p.ID); err != nil {
		return err
	}
	return p.docker.Close()
}

func (p *ensemble) start(ctx context.Context) (*ensembles.Ensemble, error) {
	if err := p.makeNetwork(ctx); err != nil {
		return nil, err
	}
	var err error
	if p.secured, err = setup.Secure(p.Record); err != nil {
		return nil, err
	}
	if err := p.runMembers(ctx); err != nil {
		return nil, err
	}
	e := assemble(p.docker, p.Record)
	p.letUpgrade(e)
	e.Secure(p.secured.Security)
	if err := setup.WaitServing(ctx, e, serveTimeout); err != nil {
		return nil, fmt.Errorf("ensemble of containers from %s: %w", p.About, err)
	}
	describe(ctx, e)
	return e, nil
}

// runMembers creates and starts all containers at once, in about a second. It ignores cancellation:
// a container that Docker creates afterwards would not be removed.
func (p *ensemble) runMembers(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	var group errgroup.Group
	for i := range p.Members {
		group.Go(func() error { return p.runMember(ctx, &p.Members[i]) })
	}
	return group.Wait()
}

func assemble(docker *client.Client, r *state.Record) *ensembles.Ensemble {
	e := r.Ensemble()
	for _, m := range e.Members {
		m.ContainerID = containerName(r.ID, m.Name) // kept when another container replaces it
		m.Machine = &machine{docker: docker, id: m.ContainerID, name: m.Name}
	}
	return e
}

func describe(ctx context.Context, e *ensembles.Ensemble) {
	e.Version = setup.Version(ctx, e)
	e.About = fmt.Sprintf("%d containers of %s, ZooKeeper %s", len(e.Members), e.About, e.Version)
}
