package chaos

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles"
)

// agentLimit bounds the start of an agent, and the removal of its container. Each takes
// about 0.3 s on a quiet machine.
const agentLimit = 30 * time.Second

// openContainer starts an agent in the network namespace of a member's container.
func (n *Network) openContainer(ctx context.Context, m *ensembles.Member, image string) (*access, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%s: its network agent would be this executable, which is for %s and not for Linux", m.Name, runtime.GOOS)
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
	return &access{alive: a.alive, ask: a.ask, close: a.close}, nil
}

// inspect returns the current network namespace of the member's container, and its image.
func inspect(ctx context.Context, docker *client.Client, m *ensembles.Member) (namespace, image string, err error) {
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
			Image:       image, // the member's own image: it is on this machine, and has the C library that may be needed
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

// copyIn copies this process's executable into the agent's container. Unlike a bind mount this also
// works if Docker does not see our files.
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
