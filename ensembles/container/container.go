// Package container runs ensembles in containers, by way of testcontainers-go.
//
//	e, err := container.Start(ctx, ensembles.Options{})
//	if err != nil {
//		return err
//	}
//	defer e.Down(context.WithoutCancel(ctx))
//
// The members have a network of their own and fixed addresses, so that a client
// finds a member again after it was killed and started. On Linux clients
// dial the containers' own addresses: a published port goes through Docker's
// proxy, which keeps connections alive while packets behind it are dropped.
//
// Every container and network is labelled with its owner (this process). After a
// crash [Sweep] finds by the labels what it must remove.
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

// defaultImage is what runs where the user asks for no image and this one can be had.
const defaultImage = "zookeeper:3.9"

// localImage is what runs otherwise; package image builds it.
const localImage = image.Name

const (
	createTimeout = time.Minute      // for Docker to make and start the containers
	serveTimeout  = 60 * time.Second // from the first member started to a quorum that serves
	removeTimeout = time.Minute      // for Docker to remove them
)

// Start runs the members and returns when all of them serve. On an error nothing
// stays behind. The caller calls Down, unless the ensemble is to be kept.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	record, err := setup.New(ensembles.Container, o)
	if err != nil {
		return nil, err
	}
	docker, err := connect(ctx)
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
	network       string // its name
	direct        bool   // clients dial the containers' own addresses
	secured       setup.Secured
	versions      []ensembles.Version // that members can be upgraded to and back
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

// down removes what was made, also for a cancelled context: an interrupted
// run must leave nothing behind.
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

// runMembers creates and starts all containers at once, in about a second. A
// cancelled context does not interrupt it: a container that Docker makes after we
// stopped listening would be missed when we remove them.
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

// assemble returns an ensemble whose containers exist, with power over them.
func assemble(docker *client.Client, r *state.Record) *ensembles.Ensemble {
	e := r.Ensemble()
	for _, m := range e.Members {
		m.ContainerID = containerName(r.ID, m.Name) // which it keeps when another takes its place
		m.Machine = &machine{docker: docker, id: m.ContainerID, name: m.Name}
	}
	return e
}

// describe asks the members for their version, and puts it beside the image.
func describe(ctx context.Context, e *ensembles.Ensemble) {
	e.Version = setup.Version(ctx, e)
	e.About = fmt.Sprintf("%d containers of %s, ZooKeeper %s", len(e.Members), e.About, e.Version)
}
