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

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
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
	if err := reachable(ctx); err != nil {
		return nil, err
	}
	tc, err := newClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("no Docker daemon found: %w (start Docker, or set DOCKER_HOST)", err)
	}
	if err := sameDaemon(tc.DaemonHost()); err != nil {
		return nil, errors.Join(err, tc.Close())
	}
	if _, err := tc.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(fmt.Errorf("the Docker daemon at %s does not answer: %w", tc.DaemonHost(), err), tc.Close())
	}
	return tc.Client, nil
}

// newClient returns an error if a busy daemon does not answer in time; testcontainers panics then.
func newClient(ctx context.Context) (tc *testcontainers.DockerClient, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("it does not answer: %v", why)
		}
	}()
	return testcontainers.NewDockerClientWithOpts(ctx)
}

// sameDaemon returns an error if the found daemon is not the daemon at DOCKER_HOST: testcontainers
// tries others if that does not answer.
func sameDaemon(found string) error {
	asked := os.Getenv("DOCKER_HOST")
	u, err := url.Parse(asked)
	if asked == "" || err != nil || u.Scheme == "unix" || strings.TrimSuffix(asked, "/") == strings.TrimSuffix(found, "/") {
		return nil
	}
	return fmt.Errorf("DOCKER_HOST=%s does not answer, but there is a daemon at %s: unset DOCKER_HOST to use it", asked, found)
}

// reachable dials the daemon's socket, from DOCKER_HOST or the default. testcontainers would lose the
// reason for a failure (no daemon, no permission) and remember the failure.
func reachable(ctx context.Context) error {
	host := os.Getenv("DOCKER_HOST")
	path := "/var/run/docker.sock"
	if host != "" {
		u, err := url.Parse(host)
		if err != nil || u.Scheme != "unix" {
			return nil // tcp, ssh, npipe: sameDaemon checks
		}
		path = u.Path
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return conn.Close()
	}
	if host == "" && errors.Is(err, fs.ErrNotExist) && elsewhere() {
		return nil
	}
	return explain(path, err)
}

// elsewhere reports whether a daemon may have another socket than the default: rootless daemons and
// Docker Desktop have their socket in the user's folders.
func elsewhere() bool {
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

// dialsDirectly reports whether this process can reach containers at their own addresses, because the
// daemon shares this machine's network.
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
