package chaos

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles"
)

// agentStart bounds the start of an agent; it takes about 0.3 s on a quiet machine.
const agentStart = 30 * time.Second

// openContainer starts an agent in the network namespace of a member's container.
func (n *Network) openContainer(ctx context.Context, m *ensembles.Member, image string) (*hand, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%s: its network agent would be this executable, which is for %s and not for Linux", m.Name, runtime.GOOS)
	}
	ctx, cancel := context.WithTimeout(ctx, agentStart)
	defer cancel()
	made, err := n.docker.ContainerCreate(ctx, agentContainer(n.ensemble.ID, m, image, n.owner))
	if err != nil {
		return nil, fmt.Errorf("%s: create its network agent: %w", m.Name, err)
	}
	a := &agent{docker: n.docker, id: made.ID, member: m.Name}
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: start its network agent: %w", m.Name, err), a.close(context.WithoutCancel(ctx)))
	}
	return &hand{alive: a.alive, ask: a.ask, close: a.close}, nil
}

// inspect returns which network namespace the member's container has now, and its image.
func inspect(ctx context.Context, docker *client.Client, m *ensembles.Member) (place, image string, err error) {
	info, err := docker.ContainerInspect(ctx, m.ContainerID, client.ContainerInspectOptions{})
	if err != nil {
		return "", "", fmt.Errorf("%s: inspect its container: %w", m.Name, err)
	}
	c := info.Container
	if c.State == nil || !c.State.Running || c.NetworkSettings == nil {
		return "", "", fmt.Errorf("%s: its container does not run, so there is no network to cut", m.Name)
	}
	// Docker makes a new namespace at each start.
	return c.NetworkSettings.SandboxKey + " " + c.State.StartedAt, c.Image, nil
}

func agentContainer(ensemble string, m *ensembles.Member, image, owner string) client.ContainerCreateOptions {
	return client.ContainerCreateOptions{
		Config: &container.Config{
			Image:       image, // the member's own: it is here, and has the C library that we may need
			User:        "0:0", // of the agent's container, whose only right is CAP_NET_ADMIN
			Entrypoint:  []string{"/zkbench"},
			Env:         []string{agentEnv + "=" + owner},
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			OpenStdin:   true, StdinOnce: true,
			AttachStdin: true, AttachStdout: true, AttachStderr: true,
			Labels: map[string]string{
				"zkbench": "1", "zkbench.ensemble": ensemble, "zkbench.owner": owner,
				"zkbench.keep": "false", "zkbench.agent": m.Name,
			},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode("container:" + m.ContainerID),
			CapDrop:     []string{"ALL"},
			CapAdd:      []string{"NET_ADMIN"},
			SecurityOpt: []string{"no-new-privileges"},
			AutoRemove:  true,
		},
	}
}

// agent is our end of a network agent's streams.
type agent struct {
	docker *client.Client
	id     string
	member string

	mu      sync.Mutex // one order at a time
	conn    client.HijackedResponse
	answers chan answer // closed when the agent is gone
	stderr  tail
	broken  error // an answer was missed, so the stream is of no more use
}

// start copies our executable in, starts it and waits until it says it is ready.
func (a *agent) start(ctx context.Context) error {
	if err := a.copyIn(ctx); err != nil {
		return fmt.Errorf("copy our executable into it: %w", err)
	}
	attached, err := a.docker.ContainerAttach(ctx, a.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return fmt.Errorf("attach to it: %w", err)
	}
	a.conn, a.answers = attached.HijackedResponse, make(chan answer)
	go a.read()
	if _, err := a.docker.ContainerStart(ctx, a.id, client.ContainerStartOptions{}); err != nil {
		return err
	}
	_, err = a.next(ctx)
	return err
}

// read passes on answers until the agent's output ends.
func (a *agent) read() {
	out, in := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(in, &a.stderr, a.conn.Reader)
		in.CloseWithError(err)
	}()
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var next answer
		if err := lines.Decode(&next); err != nil {
			out.CloseWithError(err)
			close(a.answers)
			return
		}
		a.answers <- next
	}
}

// ask sends an order and waits for its answer.
func (a *agent) ask(ctx context.Context, o order) (answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return answer{}, a.broken
	}
	line, err := json.Marshal(o)
	if err == nil {
		_, err = a.conn.Conn.Write(append(line, '\n'))
	}
	if err != nil {
		a.broken = fmt.Errorf("%s: its network agent takes no orders: %w", a.member, err)
		return answer{}, a.broken
	}
	return a.next(ctx)
}

func (a *agent) next(ctx context.Context) (answer, error) {
	select {
	case got, ok := <-a.answers:
		if ok {
			return got, nil
		}
		a.broken = fmt.Errorf("%s: its network agent ended: %s", a.member, a.stderr.String())
	case <-ctx.Done():
		a.broken = fmt.Errorf("%s: its network agent gave no answer: %w", a.member, context.Cause(ctx))
	}
	return answer{}, a.broken
}

func (a *agent) alive() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken == nil
}

// close ends the agent, which heals what it still cuts, and removes its container.
func (a *agent) close(ctx context.Context) error {
	if a.conn.Conn != nil {
		a.conn.CloseWrite() // the agent sees the end of its input, heals and ends
		for ended := false; !ended; {
			select {
			case _, open := <-a.answers:
				ended = !open
			case <-ctx.Done():
				ended = true
			}
		}
		a.conn.Close()
	}
	a.mu.Lock()
	a.broken = fmt.Errorf("%s: its network agent was ended", a.member)
	a.mu.Unlock()
	_, err := a.docker.ContainerRemove(ctx, a.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	// It removes itself as well; whichever comes first is fine.
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		return fmt.Errorf("%s: remove its network agent: %w", a.member, err)
	}
	return a.gone(ctx)
}

// gone waits until the container does not exist any more.
func (a *agent) gone(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := a.docker.ContainerInspect(ctx, a.id, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: its network agent (container %.12s) is still there: %w", a.member, a.id, context.Cause(ctx))
		}
	}
}

// copyIn puts this process's executable into the agent's container. Unlike a bind
// mount that works with a Docker that does not see our files.
func (a *agent) copyIn(ctx context.Context) error {
	exe, err := os.Open("/proc/self/exe") // also when the file was deleted or replaced since
	if err != nil {
		return err
	}
	defer exe.Close()
	info, err := exe.Stat()
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	go func() {
		t := tar.NewWriter(w)
		err := t.WriteHeader(&tar.Header{Name: "zkbench", Mode: 0o755, Size: info.Size(), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.Copy(t, exe)
		}
		w.CloseWithError(errors.Join(err, t.Close()))
	}()
	defer r.Close()
	_, err = a.docker.CopyToContainer(ctx, a.id, client.CopyToContainerOptions{DestinationPath: "/", Content: r})
	return err
}

// tail keeps the last of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = bytes.Clone(t.buf[max(0, len(t.buf)-tailBytes):])
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := strings.TrimSpace(string(t.buf)); s != "" {
		return s
	}
	return "it said nothing"
}
