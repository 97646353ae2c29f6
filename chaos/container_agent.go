package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// containerAgent is our end of a network agent's streams.
type containerAgent struct {
	docker *client.Client
	id     string
	member string

	mu      sync.Mutex // one order at a time
	conn    client.HijackedResponse
	answers chan answer
	stderr  tail
	broken  error // an answer was missed, so the stream is unusable
}

func (a *containerAgent) start(ctx context.Context) error {
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

// read forwards answers until the agent's output ends.
func (a *containerAgent) read() {
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
func (a *containerAgent) ask(ctx context.Context, o order) (answer, error) {
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

func (a *containerAgent) next(ctx context.Context) (answer, error) {
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

func (a *containerAgent) alive() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken == nil
}

// close ends the agent, which heals its cuts, and removes its container.
func (a *containerAgent) close(ctx context.Context) error {
	if a.conn.Conn != nil {
		a.conn.CloseWrite() // at the end of its input the agent heals and exits
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
	// Docker removes it as well; either may come first.
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		return fmt.Errorf("%s: remove its network agent: %w", a.member, err)
	}
	return a.gone(ctx)
}

// gone waits until the container no longer exists.
func (a *containerAgent) gone(ctx context.Context) error {
	err := poll(ctx, agentLimit, func(ctx context.Context) error {
		_, err := a.docker.ContainerInspect(ctx, a.id, client.ContainerInspectOptions{})
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case err == nil:
			err = errors.New("it can be inspected")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: its network agent (container %.12s) is still there: %w", a.member, a.id, err)
	}
	return nil
}

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
