// Package container runs ensembles in containers, by way of testcontainers-go.
//
//	e, err := container.Start(ctx, ensembles.Options{})
//	if err != nil {
//		return err
//	}
//	defer e.Down(context.WithoutCancel(ctx))
//
// The members stand in a network of their own with fixed addresses, so that a
// client finds a member again after it was killed and started. On Linux clients
// dial the containers' own addresses: a published port goes through Docker's
// proxy, which keeps connections alive while packets behind it are dropped.
//
// Everything made is labelled with its owner (this process), since nobody else
// clears up after a crash: [Sweep] does.
package container

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/image"
	"github.com/zkbench/zkbench/ensembles/state"
)

// DefaultImage is what runs where the user asks for no image and this one can be had.
const DefaultImage = "zookeeper:3.9"

// LocalImage is what runs otherwise; package image builds it.
const LocalImage = image.Name

// Limits of one ensemble.
const (
	maxMembers    = 29
	createTimeout = time.Minute      // for Docker to make and start the containers
	serveTimeout  = 60 * time.Second // from the first member started to a quorum that serves
	removeTimeout = time.Minute      // for Docker to remove them
)

// Start runs the members and returns when all of them serve. On an error nothing
// stays behind. The caller calls Down, unless the ensemble is to be kept.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	docker, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	if p.direct, err = dialsDirectly(ctx, docker); err != nil {
		return nil, errors.Join(err, docker.Close())
	}
	if p.image, err = pickImage(ctx, docker, o.Image, p.logf); err != nil {
		return nil, errors.Join(err, docker.Close())
	}
	e, err := p.start(ctx, docker)
	if err != nil {
		return nil, errors.Join(err, remove(ctx, docker, p.id), docker.Close())
	}
	e.Down = downer(docker, p.id)
	p.logf("ensemble %s: %s", e.ID, e.About)
	return e, nil
}

// plan is everything decided about an ensemble before it is made.
type plan struct {
	id      string
	image   string
	network string
	tick    time.Duration
	keep    bool
	owner   state.Process
	created time.Time
	direct  bool // clients dial the containers' own addresses
	members []member
	logf    func(string, ...any)
}

// member is one server of the ensemble, before and after its container exists.
type member struct {
	name      string
	id        int    // myid
	ip        string // in the ensemble's network
	published int    // port on 127.0.0.1 where clients cannot dial ip; else 0
	container string // container id
}

// addr is where clients reach the member.
func (m member) addr() string {
	if m.published != 0 {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.published))
	}
	return net.JoinHostPort(m.ip, strconv.Itoa(clientPort))
}

// newPlan checks the options and fills in what does not need Docker.
func newPlan(o ensembles.Options) (*plan, error) {
	if o.Members == 0 {
		o.Members = 3
	}
	if o.Members < 0 || o.Members > maxMembers {
		return nil, fmt.Errorf("an ensemble of %d members: between 1 and %d are possible", o.Members, maxMembers)
	}
	if o.Tick == 0 {
		o.Tick = 2 * time.Second
	}
	if o.Tick < time.Millisecond {
		return nil, fmt.Errorf("a tick of %v: ZooKeeper counts ticks in whole milliseconds", o.Tick)
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails: crypto/rand documents that it crashes the program instead
	p := &plan{
		id: hex.EncodeToString(id), tick: o.Tick, keep: o.Keep,
		owner: state.Self(), created: time.Now(), logf: o.Logf,
	}
	p.network = "zkbench-" + p.id
	for i := range o.Members {
		p.members = append(p.members, member{name: fmt.Sprintf("zk%d", i+1), id: i + 1})
	}
	return p, nil
}

// start makes the network and the containers, and waits until they serve.
func (p *plan) start(ctx context.Context, docker *client.Client) (*ensembles.Ensemble, error) {
	if err := p.makeNetwork(ctx, docker); err != nil {
		return nil, err
	}
	if err := p.runMembers(ctx); err != nil {
		return nil, err
	}
	e := p.assemble(docker)
	ctx, cancel := context.WithTimeoutCause(ctx, serveTimeout, fmt.Errorf("not within %v", serveTimeout))
	defer cancel()
	if err := ensembles.WaitServing(ctx, e); err != nil {
		return nil, fmt.Errorf("ensemble of containers from %s: %w", p.image, err)
	}
	e.Version = version(ctx, e)
	e.About = about(p.image, e)
	return e, nil
}

// runMembers creates and starts all containers at once. It is not interrupted
// half-way: a container that Docker makes after we stopped listening would be
// missed when clearing up. It takes about a second.
func (p *plan) runMembers(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	var group errgroup.Group
	for i := range p.members {
		group.Go(func() error { return p.runMember(ctx, &p.members[i]) })
	}
	return group.Wait()
}

// assemble makes the plain data about an ensemble whose containers exist.
func (p *plan) assemble(docker *client.Client) *ensembles.Ensemble {
	e := &ensembles.Ensemble{ID: p.id, Kind: ensembles.Container, Tick: p.tick, About: p.image}
	for _, m := range p.members {
		e.Members = append(e.Members, &ensembles.Member{
			Name: m.name, ID: m.id, IP: m.ip, Addr: m.addr(), ContainerID: m.container,
			Machine: &machine{docker: docker, id: m.container, name: m.name},
		})
	}
	return e
}

func about(imageName string, e *ensembles.Ensemble) string {
	return fmt.Sprintf("%d containers of %s, ZooKeeper %s", len(e.Members), imageName, e.Version)
}

// version is what the first member that serves says; empty when none does.
func version(ctx context.Context, e *ensembles.Ensemble) string {
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() {
			return s.Server.Version
		}
	}
	return ""
}

// downer returns the Down of an ensemble that this process started. It works for
// a cancelled context as well: being interrupted is no reason to leave things behind.
func downer(docker *client.Client, id string) func(context.Context) error {
	var mu sync.Mutex
	gone := false
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if gone {
			return nil
		}
		if err := remove(ctx, docker, id); err != nil {
			return err
		}
		gone = true
		return docker.Close()
	}
}
