package network

import (
	"archive/tar"
	"bytes"
	"cmp"
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

// The agent is this executable, started again in a small container that shares a member's network
// namespace. Only the agent has the permission to filter packets there, so a user of Docker needs
// no root. Orders and answers are JSON lines on the container's standard streams: they use Docker's
// socket, not the network that is cut. When the process that started the agent ends, also by SIGKILL,
// Docker closes the agent's standard input; the agent then heals everything and exits.

// agentEnv is the environment variable that makes this executable run as an agent.
const agentEnv = "ZKBENCH_NETWORK_AGENT"

type order struct {
	Do    string        `json:"do"` // cut, heal, dropped, delay, undelay
	Rule  Rule          `json:"rule,omitzero"`
	Cut   int           `json:"cut,omitempty"`   // for heal and dropped
	Delay time.Duration `json:"delay,omitempty"` // for delay
}

type answer struct {
	Cut     int    `json:"cut,omitempty"`
	Dropped uint64 `json:"dropped,omitzero"`
	Skipped bool   `json:"skipped,omitempty"` // Err wraps ErrSkipped
	Err     string `json:"err,omitempty"`
}

func (a answer) error() error {
	switch {
	case a.Err == "":
		return nil
	case a.Skipped:
		return fmt.Errorf("%w%s", ErrSkipped, strings.TrimPrefix(a.Err, ErrSkipped.Error()))
	}
	return errors.New(a.Err)
}

func openPath(m *ensembles.Member) (local, error) {
	ns, err := os.Open(m.NetNS)
	if err != nil {
		return local{}, fmt.Errorf("%s: open its network namespace: %w", m.Name, err)
	}
	defer ns.Close()
	f, err := openFilter(int(ns.Fd()))
	if err != nil {
		return local{}, fmt.Errorf("%s: %s: %w", m.Name, m.NetNS, err)
	}
	return local{f}, nil
}

// local carries out orders in this process.
type local struct{ *filter }

func (l local) alive() bool { return true }
func (l local) do(_ context.Context, o order) (answer, error) {
	a := l.filter.do(o)
	return a, a.error()
}
func (l local) close(context.Context) error { return l.filter.close() }

// RunAgentIfAsked runs a network agent, or a probe for [Probe], and never returns, if this process
// was started for that. Call it first in main, and in TestMain of packages whose tests cut networks:
// agents are started from the executable that calls Open.
func RunAgentIfAsked() {
	probeIfAsked()
	if os.Getenv(agentEnv) == "" {
		return
	}
	if err := runAgent(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runAgent carries out orders until in ends, then heals everything. An empty first answer shows that it is ready.
func runAgent(in io.Reader, out io.Writer) (err error) {
	f, err := openFilter(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for a := (answer{}); ; {
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		a = f.do(o)
	}
}

type containerAgent struct {
	docker *client.Client
	id     string
	member string

	mu      sync.Mutex // one order at a time
	conn    client.HijackedResponse
	answers chan answer
	stderr  bytes.Buffer // complete when answers is closed
	broken  error        // an answer was missed, so the stream is unusable
}

func (a *containerAgent) start(ctx context.Context) error {
	if err := a.copyIn(ctx); err != nil {
		return fmt.Errorf("copy zkbench into the agent's container: %w", err)
	}
	attached, err := a.docker.ContainerAttach(ctx, a.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return fmt.Errorf("attach to the agent's container: %w", err)
	}
	a.conn, a.answers = attached.HijackedResponse, make(chan answer)
	go a.read()
	if _, err := a.docker.ContainerStart(ctx, a.id, client.ContainerStartOptions{}); err != nil {
		return err
	}
	_, err = a.next(ctx)
	return err
}

func (a *containerAgent) read() {
	defer close(a.answers)
	out, in := io.Pipe()
	var copying sync.WaitGroup
	defer copying.Wait()
	copying.Go(func() {
		_, err := stdcopy.StdCopy(in, &a.stderr, a.conn.Reader)
		in.CloseWithError(err)
	})
	for lines := json.NewDecoder(out); ; {
		var next answer
		if err := lines.Decode(&next); err != nil {
			out.CloseWithError(err)
			return
		}
		a.answers <- next
	}
}

func (a *containerAgent) do(ctx context.Context, o order) (answer, error) {
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
		a.broken = fmt.Errorf("%s: its network agent does not accept orders: %w", a.member, err)
		return answer{}, a.broken
	}
	got, err := a.next(ctx)
	return got, cmp.Or(err, got.error())
}

// stderrLimit is the number of bytes of an agent's error output that an error quotes.
const stderrLimit = 4096

func (a *containerAgent) next(ctx context.Context) (answer, error) {
	select {
	case got, ok := <-a.answers:
		if ok {
			return got, nil
		}
		output := a.stderr.String()
		output = strings.TrimSpace(output[max(0, len(output)-stderrLimit):])
		a.broken = fmt.Errorf("%s: its network agent ended: %s", a.member, cmp.Or(output, "no error output"))
	case <-ctx.Done():
		a.broken = fmt.Errorf("%s: its network agent did not answer: %w", a.member, context.Cause(ctx))
	}
	return answer{}, a.broken
}

func (a *containerAgent) alive() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken == nil
}

func (a *containerAgent) close(ctx context.Context) error {
	if a.conn.Conn != nil {
		defer context.AfterFunc(ctx, a.conn.Close)()
		a.conn.CloseWrite()   // at the end of its input the agent heals and exits
		for range a.answers { // until it has exited
		}
		a.conn.Close()
	}
	a.mu.Lock()
	a.broken = fmt.Errorf("%s: its network agent was stopped", a.member)
	a.mu.Unlock()
	_, err := a.docker.ContainerRemove(ctx, a.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	// Docker removes the container as well; either removal may be first.
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		return fmt.Errorf("%s: remove its network agent: %w", a.member, err)
	}
	ctx, cancel := context.WithTimeout(ctx, agentLimit)
	defer cancel()
	removed := a.docker.ContainerWait(ctx, a.id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case <-removed.Result:
	case err := <-removed.Error:
		if !errdefs.IsNotFound(err) {
			return fmt.Errorf("%s: its network agent (container %.12s) still exists: %w", a.member, a.id, err)
		}
	}
	return nil
}

// agentLimit bounds the start of an agent, and the removal of its container: about 0.3 s each.
const agentLimit = 30 * time.Second

func (n *Network) openContainer(ctx context.Context, m *ensembles.Member, image string) (*containerAgent, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%s: its network agent must be a Linux program, but this executable is for %s", m.Name, runtime.GOOS)
	}
	ctx, cancel := context.WithTimeout(ctx, agentLimit)
	defer cancel()
	made, err := n.docker.ContainerCreate(ctx, agentContainer(n.ensemble.ID, m, image, n.owner))
	if err != nil {
		return nil, fmt.Errorf("%s: create its network agent: %w", m.Name, err)
	}
	a := &containerAgent{docker: n.docker, id: made.ID, member: m.Name}
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: start its network agent: %w", m.Name, err), a.close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

func inspect(ctx context.Context, docker *client.Client, m *ensembles.Member) (namespace, image string, err error) {
	info, err := docker.ContainerInspect(ctx, m.ContainerID, client.ContainerInspectOptions{})
	if err != nil {
		return "", "", fmt.Errorf("%s: cannot inspect its container: %w", m.Name, err)
	}
	c := info.Container
	if c.State == nil || !c.State.Running || c.NetworkSettings == nil {
		return "", "", fmt.Errorf("%s: its container is not running, so its network cannot be cut", m.Name)
	}
	// Docker makes a new namespace at each start.
	return c.NetworkSettings.SandboxKey + " " + c.State.StartedAt, c.Image, nil
}

func agentContainer(ensemble string, m *ensembles.Member, image, owner string) client.ContainerCreateOptions {
	return client.ContainerCreateOptions{
		Config: &container.Config{
			Image:       image, // the member's own image: it is on this machine, and has the C library that may be needed
			User:        "0:0", // of the agent's container, whose only right is CAP_NET_ADMIN
			Entrypoint:  []string{"/zkbench"},
			Env:         []string{agentEnv + "=1"},
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

// copyIn copies this process's executable into the agent's container. Unlike a bind mount this also
// works if Docker has no access to the files of this machine.
func (a *containerAgent) copyIn(ctx context.Context) error {
	exe, err := os.Open("/proc/self/exe") // also if the file was deleted or replaced
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

// commands change a member's network by the configured commands of an external ensemble. They do not
// count dropped packets, and cannot drop a share of packets or delay them.
type commands struct{ member *ensembles.Member }

func (c commands) alive() bool                     { return true }
func (c commands) close(ctx context.Context) error { return c.member.Cutter.Heal(ctx) }

func (c commands) do(ctx context.Context, o order) (answer, error) {
	switch o.Do {
	case "cut":
		if o.Rule.Loss > 0 {
			return answer{}, fmt.Errorf("%w: the ensemble's commands can isolate %s, but they cannot drop a share of its packets", ErrSkipped, c.member.Name)
		}
		cut := ensembles.Cut{Direction: cmp.Or(o.Rule.Direction, Both), Peers: o.Rule.Peers, Except: o.Rule.Except}
		return answer{}, c.member.Cutter.Isolate(ctx, cut)
	case "heal":
		return answer{}, c.member.Cutter.Heal(ctx)
	}
	return answer{}, fmt.Errorf("%w: %s has no command for the operation %s", ErrSkipped, c.member.Name, o.Do)
}
