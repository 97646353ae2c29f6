package container

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/image"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
	"golang.org/x/sync/errgroup"
)

// defaultImage is used unless the user names an image, if it can be pulled.
const defaultImage = "zookeeper:3.9"

// localImage is used if defaultImage cannot be pulled; package image builds it.
const localImage = image.Name

const (
	createTimeout = time.Minute
	serveTimeout  = 3 * time.Minute
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
	p.enableUpgrades(e)
	e.SetSecurity(p.secured.Security)
	if err := setup.WaitServing(ctx, e, serveTimeout); err != nil {
		return nil, fmt.Errorf("ensemble of containers from %s: %w", p.About, err)
	}
	describe(ctx, e)
	return e, state.Save(*p.Record)
}

// down removes everything, even if the context is cancelled: an interrupted run must leave nothing.
func (p *ensemble) down(ctx context.Context) error {
	if err := remove(ctx, p.docker, p.ID); err != nil {
		return err
	}
	return p.docker.Close()
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
	for _, m := range p.Members {
		group.Go(func() error { return p.runMember(ctx, m) })
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

// networkTries is the maximum number of attempts if others take the offered subnet in the meantime.
const networkTries = 8

// firstHost leaves room for the gateway before the members' addresses.
const firstHost = 10

// makeNetwork creates the ensemble's network and assigns the members' addresses. Docker allows fixed
// addresses only in an explicit subnet, and only Docker knows the free subnets. makeNetwork therefore
// creates a network to learn a free subnet, removes it, and creates it again with this subnet.
func (p *ensemble) makeNetwork(ctx context.Context) error {
	for range networkTries {
		subnet, err := p.findSubnet(ctx)
		if err != nil {
			return err
		}
		_, err = p.createNetwork(ctx, subnet)
		if err == nil {
			return p.assignAddresses(subnet)
		}
		if !isSubnetConflict(err) {
			return fmt.Errorf("creating the network %s in %v: %w", p.network, subnet, err)
		}
	}
	return fmt.Errorf("creating the network %s: the subnets that Docker offered were already in use, in each of %d attempts; "+
		"remove unused networks (zkbench ensemble down, docker network prune)", p.network, networkTries)
}

func (p *ensemble) findSubnet(ctx context.Context) (netip.Prefix, error) {
	id, err := p.createNetwork(ctx, netip.Prefix{})
	if err != nil {
		if strings.Contains(err.Error(), "non-overlapping") || strings.Contains(err.Error(), "fully subnetted") {
			err = fmt.Errorf("no subnet is free: remove unused networks (zkbench ensemble down, docker network prune): %w", err)
		}
		return netip.Prefix{}, fmt.Errorf("creating the network %s: %w", p.network, err)
	}
	reply, err := p.docker.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	_, failed := p.docker.NetworkRemove(context.WithoutCancel(ctx), id, client.NetworkRemoveOptions{})
	if err := errors.Join(err, failed); err != nil {
		return netip.Prefix{}, fmt.Errorf("finding a free subnet: %w", err)
	}
	for _, c := range reply.Network.IPAM.Config {
		if c.Subnet.Addr().Is4() {
			return c.Subnet, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("finding a free subnet: Docker assigned no IPv4 subnet to the network %s", p.network)
}

func (p *ensemble) createNetwork(ctx context.Context, subnet netip.Prefix) (id string, err error) {
	o := client.NetworkCreateOptions{Driver: "bridge", Labels: labels(p.Record)}
	if subnet.IsValid() {
		o.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet, Gateway: subnet.Addr().Next()}}}
	}
	// Cancellation is ignored, for the same reason as in runMembers.
	reply, err := p.docker.NetworkCreate(context.WithoutCancel(ctx), p.network, o)
	return reply.ID, err
}

func isSubnetConflict(err error) bool {
	return errdefs.IsConflict(err) || strings.Contains(err.Error(), "overlap") || strings.Contains(err.Error(), "conflicts with network")
}

func (p *ensemble) assignAddresses(subnet netip.Prefix) error {
	if room := 1<<(32-subnet.Bits()) - firstHost - 1; room < len(p.Members) {
		return fmt.Errorf("the subnet %v that Docker offers is too small for %d members; configure larger default-address-pools for the daemon", subnet, len(p.Members))
	}
	ip := subnet.Masked().Addr()
	for range firstHost {
		ip = ip.Next()
	}
	for i := range p.Members {
		p.Members[i].IP = ip.String()
		ip = ip.Next()
	}
	if p.direct {
		return nil
	}
	return p.assignPorts()
}

// assignPorts assigns fixed free ports to the members: Docker would choose other ports at each start.
func (p *ensemble) assignPorts() error {
	ports, err := setup.FreePorts(len(p.Members))
	for i, port := range ports {
		p.Members[i].Published = port
	}
	return err
}

const (
	confDir  = "/conf"
	confFile = confDir + "/zoo.cfg"
	idFile   = "/data/myid"
	dataDir  = "/data"
	logDir   = "/datalog"
)

func containerName(ensemble, member string) string { return "zkbench-" + ensemble + "-" + member }

func (p *ensemble) runMember(ctx context.Context, m state.Member) error {
	first := ensembles.Version{From: p.About}
	if len(p.versions) > 0 {
		first.Name = p.versions[0].Name
	}
	_, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: p.request(m, first),
		Started:          true,
	})
	if err != nil {
		return fmt.Errorf("starting %s from the image %s: %w", m.Name, p.About, err)
	}
	return nil
}

// request returns the container of a member, of the official image or the image of package image.
func (p *ensemble) request(m state.Member, v ensembles.Version) testcontainers.ContainerRequest {
	port := network.MustParsePort(strconv.Itoa(setup.ClientPort) + "/tcp")
	// testcontainers publishes every port of the image unless a port is named. If clients dial the
	// containers' own addresses, the published port is unused, and Docker may choose its number.
	published := network.PortBinding{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(m.Published)}
	r := testcontainers.ContainerRequest{
		Image:          v.From,
		Name:           containerName(p.ID, m.Name),
		Labels:         labels(p.Record),
		Networks:       []string{p.network},
		NetworkAliases: map[string][]string{p.network: {m.Name}},
		ExposedPorts:   []string{port.String()},
		Env: map[string]string{
			"ZK_SERVER_HEAP":  "512", // MB, as a limit
			"SERVER_JVMFLAGS": strings.Join(append(setup.Flags(p.Record), "-XX:+UseSerialGC"), " "),
			"JMXDISABLE":      "true", // unused, and slows the start down
		},
		Files: p.files(m),
		HostConfigModifier: func(c *dockercontainer.HostConfig) {
			c.PortBindings = network.PortMap{port: {published}}
		},
		EndpointSettingsModifier: func(settings map[string]*network.EndpointSettings) {
			for _, s := range settings {
				s.IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: netip.MustParseAddr(m.IP)}
			}
		},
	}
	r.Labels[labelMember] = m.Name
	if v.Name != "" {
		r.Labels[labelVersion] = v.Name
	}
	return r
}

func (p *ensemble) files(m state.Member) []testcontainers.ContainerFile {
	files := map[string]string{confFile: p.zooCfg(m), idFile: strconv.Itoa(m.ID) + "\n"}
	for name, text := range p.secured.Files {
		files[path.Join(confDir, name)] = string(text)
	}
	var out []testcontainers.ContainerFile
	for path, text := range files {
		out = append(out, testcontainers.ContainerFile{Reader: strings.NewReader(text), ContainerFilePath: path, FileMode: 0o644})
	}
	return out
}

func (p *ensemble) zooCfg(m state.Member) string {
	lines := []string{"dataDir=" + dataDir, "dataLogDir=" + logDir,
		"preAllocSize=1024"} // KiB by which a log file grows: Docker copies whole files, one for each start
	return setup.ZooCfg(p.Record, m, true, append(lines, setup.SecureLines(p.Record, m, confDir)...)...)
}

// The labels of the containers and networks that zkbench creates. [Sweep] needs them: the record of an
// ensemble may be lost.
const (
	labelOurs     = "zkbench"
	labelEnsemble = "zkbench.ensemble" // the ensemble's ID
	labelOwner    = "zkbench.owner"    // PID:START of the process that created it
	labelHost     = "zkbench.host"     // where that process ID is valid
	labelKeep     = "zkbench.keep"     // "true": persistent
	labelCreated  = "zkbench.created"  // RFC 3339
	labelMember   = "zkbench.member"   // a member's name; on its container only
	labelVersion  = "zkbench.version"  // the version that it runs, if members are upgraded
)

func labels(r *state.Record) map[string]string {
	return map[string]string{
		labelOurs:     "1",
		labelEnsemble: r.ID,
		labelOwner:    r.Owner.String(),
		labelHost:     state.Host(),
		labelKeep:     strconv.FormatBool(r.Keep),
		labelCreated:  r.Created.Format(time.RFC3339),
	}
}
