package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/image"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/ensembles/state"
	"golang.org/x/sync/errgroup"
)

const pingTimeout = 5 * time.Second

// prepare configures testcontainers, which reads its settings only once, before its first use.
var prepare = sync.OnceFunc(func() {
	// The cleaner of testcontainers needs an image that cannot be pulled everywhere; Sweep
	// replaces it. The variable accepts only "true".
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	tclog.SetDefault(tclog.NewNoopLogger())
})

// Docker returns a client of the daemon that runs the members, after the daemon has answered a ping, or
// an error with the reason if no daemon is available. The caller must close the client.
func Docker(ctx context.Context) (*client.Client, error) {
	prepare()
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := checkReachable(ctx); err != nil {
		return nil, err
	}
	tc, err := newClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("no Docker daemon found: %w (start Docker, or set DOCKER_HOST)", err)
	}
	if err := checkSameDaemon(tc.DaemonHost()); err != nil {
		return nil, errors.Join(err, tc.Close())
	}
	if _, err := tc.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(fmt.Errorf("the Docker daemon at %s does not answer: %w", tc.DaemonHost(), err), tc.Close())
	}
	return tc.Client, nil
}

// newClient returns an error where testcontainers panics: if a busy daemon does not answer in time.
func newClient(ctx context.Context) (tc *testcontainers.DockerClient, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("it does not answer: %v", why)
		}
	}()
	return testcontainers.NewDockerClientWithOpts(ctx)
}

// checkSameDaemon returns an error if the found daemon is not the daemon at DOCKER_HOST: testcontainers
// tries others if that does not answer.
func checkSameDaemon(found string) error {
	asked := os.Getenv("DOCKER_HOST")
	u, err := url.Parse(asked)
	if asked == "" || err != nil || u.Scheme == "unix" || strings.TrimSuffix(asked, "/") == strings.TrimSuffix(found, "/") {
		return nil
	}
	return fmt.Errorf("DOCKER_HOST=%s does not answer, but there is a daemon at %s: unset DOCKER_HOST to use it", asked, found)
}

// checkReachable dials the daemon's socket, from DOCKER_HOST or the default. testcontainers would lose the
// reason for a failure (no daemon, no permission) and remember the failure.
func checkReachable(ctx context.Context) error {
	host := os.Getenv("DOCKER_HOST")
	path := "/var/run/docker.sock"
	if host != "" {
		u, err := url.Parse(host)
		if err != nil || u.Scheme != "unix" {
			return nil // tcp, ssh, npipe: checkSameDaemon checks it
		}
		path = u.Path
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return conn.Close()
	}
	if host == "" && errors.Is(err, fs.ErrNotExist) && hasOtherSocket() {
		return nil
	}
	return explain(path, err)
}

// hasOtherSocket reports whether a daemon may have another socket than the default: rootless daemons and
// Docker Desktop have their socket in the user's folders.
func hasOtherSocket() bool {
	home, _ := os.UserHomeDir()
	for _, path := range []string{
		os.Getenv("XDG_RUNTIME_DIR") + "/docker.sock",
		fmt.Sprintf("/run/user/%d/docker.sock", os.Getuid()),
		home + "/.docker/run/docker.sock",
		home + "/.docker/desktop/docker.sock",
	} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return runtime.GOOS == "windows" // uses a named pipe
}

func explain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission for the Docker socket %s: add yourself to the docker group "+
			"(sudo usermod -aG docker $USER, then log in again) or use --ensemble process: %w", path, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no Docker socket %s: install and start Docker, set DOCKER_HOST, or use --ensemble process: %w", path, err)
	default:
		return fmt.Errorf("no answer at the Docker socket %s: start Docker (sudo systemctl start docker) or use --ensemble process: %w", path, err)
	}
}

// dialsDirectly reports whether the daemon shares this machine's network, so that containers' addresses work.
func dialsDirectly(ctx context.Context, docker *client.Client) (bool, error) {
	if runtime.GOOS != "linux" || !strings.HasPrefix(docker.DaemonHost(), "unix://") {
		return false, nil
	}
	reply, err := docker.Info(ctx, client.InfoOptions{})
	if err != nil {
		return false, fmt.Errorf("querying the Docker daemon: %w", err)
	}
	rootless := slices.ContainsFunc(reply.Info.SecurityOptions, func(s string) bool { return strings.Contains(s, "rootless") })
	return !rootless && reply.Info.OperatingSystem != "Docker Desktop", nil
}

// Limits for a registry that may not respond.
const (
	pullTimeout  = 5 * time.Minute
	queryTimeout = 5 * time.Second
)

// Available returns nil if ensembles of containers work on this machine: the Docker daemon answers, and
// an image exists or can be obtained. Otherwise the error has the reason and the remedy. Available
// takes a few seconds at most and creates nothing.
func Available(ctx context.Context) error {
	docker, err := Docker(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	if name, err := ownImage(ctx, docker); name != "" || err != nil {
		return err
	}
	cannotBuild := image.CanBuild()
	if cannotBuild == nil {
		return nil
	}
	query, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err = docker.DistributionInspect(query, defaultImage, client.DistributionInspectOptions{EncodedRegistryAuth: auth(query, defaultImage)})
	if err != nil {
		return noImage(err, cannotBuild)
	}
	return nil
}

func noImage(pull, build error) error {
	return fmt.Errorf("no ZooKeeper image is available: %s cannot be pulled (%w), and %s cannot be built (%w); "+
		"name an image with --image, or use --ensemble process", defaultImage, pull, localImage, build)
}

// pickImage returns the image to run and makes it available. The user's image is never replaced.
// Without one, the official image is preferred to the local image.
func pickImage(ctx context.Context, docker *client.Client, wanted string, logf func(string, ...any)) (string, error) {
	if wanted != "" {
		here, err := present(ctx, docker, wanted)
		if err != nil || here {
			return wanted, err
		}
		logf("pulling %s", wanted)
		if err := pull(ctx, docker, wanted); err != nil {
			return "", fmt.Errorf("the image %s is not on this machine and cannot be pulled: %w (check the name given with --image)", wanted, err)
		}
		return wanted, nil
	}
	if name, err := ownImage(ctx, docker); name != "" || err != nil {
		return name, err
	}
	logf("pulling %s", defaultImage)
	cannotPull := pull(ctx, docker, defaultImage)
	if cannotPull == nil {
		return defaultImage, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err := image.CanBuild(); err != nil {
		return "", noImage(cannotPull, err)
	}
	logf("%s cannot be pulled (%v): building %s from Debian's packages, which takes a minute", defaultImage, cannotPull, localImage)
	if err := image.Build(ctx, docker.DaemonHost()); err != nil {
		return "", noImage(cannotPull, err)
	}
	return localImage, nil
}

func ownImage(ctx context.Context, docker *client.Client) (string, error) {
	for _, name := range []string{defaultImage, localImage} {
		if here, err := present(ctx, docker, name); here || err != nil {
			return name, err
		}
	}
	return "", nil
}

func present(ctx context.Context, docker *client.Client, name string) (bool, error) {
	_, err := docker.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("querying the Docker daemon for the image %s: %w", name, err)
	}
	return true, nil
}

// pull makes one attempt: testcontainers would retry permanent errors until the context ends.
func pull(ctx context.Context, docker *client.Client, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pullTimeout, errors.New("the pull took too long"))
	defer cancel()
	reply, err := docker.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: auth(ctx, name)})
	if err != nil {
		return err
	}
	defer reply.Close()
	return reply.Wait(ctx)
}

// auth returns the user's credentials for an image's registry from Docker's configuration, or "".
func auth(ctx context.Context, name string) string {
	_, config, err := testcontainers.DockerImageAuth(ctx, name)
	if err != nil {
		return ""
	}
	encoded, _ := authconfig.Encode(config) // "" on an error
	return encoded
}

const removeInterval = 50 * time.Millisecond

// remove returns when all is removed. It ignores cancellation of the context.
func remove(ctx context.Context, docker *client.Client, id string) error {
	if id == "" {
		return errors.New("removing an ensemble: its ID is empty, which would match every ensemble")
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("timed out after %v", removeTimeout))
	defer cancel()
	var last error
	err := wait.Until(ctx, removeInterval, func() bool {
		all, err := find(ctx, docker, id)
		if err == nil && len(all) == 0 {
			return true
		}
		if err == nil {
			err = all[0].remove(ctx, docker)
		}
		last = err
		return false
	})
	if err != nil {
		return fmt.Errorf("removing ensemble %s: %w (zkbench ensemble down tries again)", id, errors.Join(err, last))
	}
	return state.Remove(id)
}

func (f *resources) remove(ctx context.Context, docker *client.Client) error {
	errs := []error{removeContainers(ctx, docker, slices.Concat(f.agents, f.containers))}
	for _, id := range f.networks {
		_, err := docker.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		errs = append(errs, tolerate(err))
	}
	return errors.Join(errs...)
}

func removeContainers(ctx context.Context, docker *client.Client, containers []container.Summary) error {
	var group errgroup.Group
	for _, c := range containers {
		group.Go(func() error {
			_, err := docker.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			return tolerate(err)
		})
	}
	return group.Wait()
}

func tolerate(err error) error {
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}

// Attach returns a persistent ensemble that another process has started, with full control of its
// members. Its Down only detaches.
func Attach(ctx context.Context, r state.Record) (*ensembles.Ensemble, error) {
	docker, err := Docker(ctx)
	if err != nil {
		return nil, err
	}
	e := assemble(docker, &r)
	describe(ctx, e)
	e.Down = func(context.Context) error { return docker.Close() }
	return e, nil
}

// Sweep removes the containers and networks of ensembles whose owner is dead. Persistent ensembles are
// kept, unless all is set. It never touches an ensemble with a living owner or with an agent of a
// living process. It returns one line for each removed ensemble.
func Sweep(ctx context.Context, all bool) (removed []string, err error) {
	docker, err := Docker(ctx)
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	ours, err := find(ctx, docker, "")
	if err != nil {
		return nil, err
	}
	removed, err = sweep(ctx, docker, ours, all)
	return removed, errors.Join(err, removeStaleRecords(ours))
}

func removeStaleRecords(ours []*resources) error {
	records, err := state.List()
	for _, r := range records {
		exists := slices.ContainsFunc(ours, func(f *resources) bool { return f.id == r.ID })
		if r.Kind == ensembles.Container && !exists && !r.OwnerAlive() {
			err = errors.Join(err, state.Remove(r.ID))
		}
	}
	return err
}

func sweep(ctx context.Context, docker *client.Client, ours []*resources, all bool) (removed []string, err error) {
	var errs []error
	for _, f := range ours {
		if f.id == "" || f.inUse() { // without an ID, zkbench has not labelled it
			continue
		}
		if f.labels[labelKeep] == "true" && !all {
			errs = append(errs, removeContainers(ctx, docker, f.agents))
			continue
		}
		if err := remove(ctx, docker, f.id); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, fmt.Sprintf("container ensemble %s of %s: %d containers, %d networks",
			f.id, f.labels[labelCreated], len(f.containers)+len(f.agents), len(f.networks)))
	}
	return removed, errors.Join(errs...)
}

type resources struct {
	id         string
	labels     map[string]string
	containers []container.Summary
	agents     []container.Summary // helpers of package chaos in members' networks
	networks   []string
}

// find returns zkbench's containers and networks, grouped by ensemble; if id is set, of that ensemble only.
func find(ctx context.Context, docker *client.Client, id string) ([]*resources, error) {
	filters := make(client.Filters).Add("label", labelOurs+"=1")
	if id != "" {
		filters.Add("label", labelEnsemble+"="+id)
	}
	containers, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("listing zkbench's containers: %w", err)
	}
	networks, err := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("listing zkbench's networks: %w", err)
	}
	byID := map[string]*resources{}
	at := func(labels map[string]string) *resources {
		id := labels[labelEnsemble]
		if byID[id] == nil {
			byID[id] = &resources{id: id, labels: labels}
		}
		return byID[id]
	}
	// Networks first: their labels describe the ensemble's owner.
	for _, n := range networks.Items {
		f := at(n.Labels)
		f.networks = append(f.networks, n.ID)
	}
	slices.SortFunc(containers.Items, func(a, b container.Summary) int { // members before agents
		return cmp.Compare(b.Labels[labelMember], a.Labels[labelMember])
	})
	for _, c := range containers.Items {
		f := at(c.Labels)
		if c.Labels[labelMember] != "" {
			f.containers = append(f.containers, c)
		} else {
			f.agents = append(f.agents, c)
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b *resources) int { return cmp.Compare(a.id, b.id) }), nil
}

func (f *resources) inUse() bool {
	alive := func(labels map[string]string) bool {
		return state.Record{Host: labels[labelHost], Owner: state.ParseProcess(labels[labelOwner])}.OwnerAlive()
	}
	return alive(f.labels) || slices.ContainsFunc(f.agents, func(c container.Summary) bool { return alive(c.Labels) })
}
