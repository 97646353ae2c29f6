package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/zkbench/zkbench/ensembles/internal/image"
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

// explain describes a failure to dial the daemon's socket, and how to fix it.
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
