package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

// stopGrace is the time in seconds between SIGTERM and SIGKILL when a server is stopped.
const stopGrace = 10

type machine struct {
	docker *client.Client
	id     string
	name   string

	// request returns the container for a version; nil if members are not upgraded.
	request func(ensembles.Version) testcontainers.ContainerRequest
	mu      sync.Mutex
	earlier []byte // output of the containers that this container has replaced
}

// Start restarts the container with the same data and address. It does nothing if the container runs.
func (m *machine) Start(ctx context.Context) error {
	_, err := m.docker.ContainerStart(ctx, m.id, client.ContainerStartOptions{})
	return m.wrapError("starting", err)
}

func (m *machine) Stop(ctx context.Context) error {
	if err := m.Resume(ctx); err != nil {
		return err
	}
	grace := stopGrace
	_, err := m.docker.ContainerStop(ctx, m.id, client.ContainerStopOptions{Timeout: &grace})
	return m.wrapError("stopping", err)
}

// Kill kills the server with SIGKILL and waits until it has ended. Docker refuses to kill a frozen
// container.
func (m *machine) Kill(ctx context.Context) error {
	if err := m.Resume(ctx); err != nil {
		return err
	}
	_, err := m.docker.ContainerKill(ctx, m.id, client.ContainerKillOptions{Signal: "KILL"})
	if err != nil && !errdefs.IsConflict(err) { // a conflict means that the container is not running
		return m.wrapError("killing", err)
	}
	wait := m.docker.ContainerWait(ctx, m.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		return m.wrapError("waiting for the end of", err)
	}
}

// Pause freezes the server's processes. It may be called twice.
func (m *machine) Pause(ctx context.Context) error {
	c, err := m.inspect(ctx)
	if err != nil || c.State.Paused {
		return err
	}
	_, err = m.docker.ContainerPause(ctx, m.id, client.ContainerPauseOptions{})
	return m.wrapError("pausing", err)
}

// Resume continues the server's processes. It may be called twice.
func (m *machine) Resume(ctx context.Context) error {
	c, err := m.inspect(ctx)
	if err != nil || !c.State.Paused {
		return err
	}
	_, err = m.docker.ContainerUnpause(ctx, m.id, client.ContainerUnpauseOptions{})
	return m.wrapError("resuming", err)
}

func (m *machine) Running(ctx context.Context) (bool, error) {
	c, err := m.inspect(ctx)
	return err == nil && c.State.Running, err
}

func (m *machine) Save(ctx context.Context, dir string) error {
	cfg, err := m.config(ctx)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, m.name+".cfg"), cfg, 0o644)
	}
	if err != nil {
		return m.wrapError("saving the configuration of", err)
	}
	log, err := os.Create(filepath.Join(dir, m.name+".log"))
	if err != nil {
		return m.wrapError("saving the log of", err)
	}
	m.mu.Lock()
	_, err = log.Write(m.earlier)
	m.mu.Unlock()
	return m.wrapError("saving the log of", errors.Join(err, m.log(ctx, log, "all"), log.Close()))
}

// config reads zoo.cfg from the container; Docker returns it in an archive.
func (m *machine) config(ctx context.Context) ([]byte, error) {
	reply, err := m.docker.CopyFromContainer(ctx, m.id, client.CopyFromContainerOptions{SourcePath: confFile})
	if err != nil {
		return nil, err
	}
	defer reply.Content.Close()
	archive := tar.NewReader(reply.Content)
	if _, err := archive.Next(); err != nil {
		return nil, err
	}
	return io.ReadAll(archive)
}

// TxnLogs reads the member's transaction logs into memory, whether it runs or not.
func (m *machine) TxnLogs(ctx context.Context, after int64) ([]io.ReadCloser, error) {
	reply, err := m.docker.CopyFromContainer(ctx, m.id, client.CopyFromContainerOptions{SourcePath: logDir + "/version-2"})
	if errdefs.IsNotFound(err) {
		return nil, nil // the member has not started yet, or its removal is reported elsewhere
	}
	if err != nil {
		return nil, m.wrapError("reading the transaction logs of", err)
	}
	defer reply.Content.Close()
	logs, err := txnlog.Untar(reply.Content, after)
	return logs, m.wrapError("reading the transaction logs of", err)
}

func (m *machine) RecentLog(ctx context.Context) ([]byte, error) {
	var log bytes.Buffer
	err := m.log(ctx, &log, "5000")
	return log.Bytes(), m.wrapError("reading the log of", err)
}

// log writes the last lines of the server's output; "all" means since the container was created.
func (m *machine) log(ctx context.Context, to io.Writer, lines string) error {
	reply, err := m.docker.ContainerLogs(ctx, m.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Tail: lines,
	})
	if err != nil {
		return err
	}
	defer reply.Close()
	_, err = stdcopy.StdCopy(to, to, reply)
	return err
}

func (m *machine) wrapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s (container %s): %w", doing, m.name, m.id, err)
}

// Fetch pulls the images that are not on this machine. Without images it does not use Docker.
func Fetch(ctx context.Context, images []string, logf func(string, ...any)) error {
	if len(images) == 0 {
		return nil
	}
	docker, err := Docker(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	for _, name := range images {
		if _, err := pickImage(ctx, docker, name, logf); err != nil {
			return err
		}
	}
	return nil
}

func (p *ensemble) enableUpgrades(e *ensembles.Ensemble) {
	if len(p.versions) == 0 {
		return
	}
	e.Versions = p.versions
	for i, m := range e.Members {
		m.Machine.(*machine).request = func(v ensembles.Version) testcontainers.ContainerRequest {
			return p.request(p.Members[i], v)
		}
	}
}

// Upgrade replaces the member's container by a container of the version with the same volumes, address
// and name. It does not start the container.
func (m *machine) Upgrade(ctx context.Context, v ensembles.Version) error {
	if m.request == nil {
		return m.wrapError("upgrading", errors.New("the ensemble was started with only one version"))
	}
	old, err := m.inspect(ctx)
	if err != nil {
		return err
	}
	if err := checkReplaceable(old); err != nil {
		return m.wrapError("upgrading", err)
	}
	var log bytes.Buffer
	if err := m.log(ctx, &log, "all"); err != nil {
		return m.wrapError("saving the log of", err)
	}
	next, err := m.create(ctx, old.ID, v)
	if err == nil {
		_, err = m.docker.ContainerRemove(ctx, old.ID, client.ContainerRemoveOptions{})
	}
	if err == nil {
		_, err = m.docker.ContainerRename(ctx, next, client.ContainerRenameOptions{NewName: m.id})
	}
	if err != nil {
		return m.wrapError("upgrading", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.earlier = append(m.earlier, log.Bytes()...)
	return nil
}

// create returns the ID of a new container with the old one's volumes. On an error it leaves none.
func (m *machine) create(ctx context.Context, old string, v ensembles.Version) (id string, err error) {
	request := m.request(v)
	request.Name += "-next"
	modify := request.HostConfigModifier
	request.HostConfigModifier = func(c *container.HostConfig) {
		modify(c)
		c.VolumesFrom = []string{old}
	}
	// Not interrupted: a container that Docker creates afterwards would not be removed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	made, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{ContainerRequest: request})
	if made != nil {
		id = made.GetContainerID()
	}
	if err != nil && id != "" {
		_, left := m.docker.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true}) // the volumes belong to the old one
		err = errors.Join(err, left)
	}
	return id, err
}

func (m *machine) CurrentVersion(ctx context.Context) (string, error) {
	c, err := m.inspect(ctx)
	if err != nil {
		return "", err
	}
	name := c.Config.Labels[labelVersion]
	if name == "" {
		return "", m.wrapError("finding the version of", errors.New("its container has no label with the version"))
	}
	return name, nil
}

func (m *machine) inspect(ctx context.Context) (container.InspectResponse, error) {
	reply, err := m.docker.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	if err == nil && (reply.Container.Config == nil || reply.Container.State == nil) {
		err = errors.New("the Docker daemon's reply does not contain the container's state")
	}
	return reply.Container, m.wrapError("inspecting", err)
}

// checkReplaceable returns an error if another container cannot use the data of this container.
func checkReplaceable(c container.InspectResponse) error {
	if c.State.Running {
		return errors.New("it is running")
	}
	for _, dir := range []string{dataDir, logDir} {
		if !slices.ContainsFunc(c.Mounts, func(p container.MountPoint) bool { return p.Destination == dir }) {
			return fmt.Errorf("its image %s has no volume for %s, so the data would be lost; the official image has one", c.Config.Image, dir)
		}
	}
	return nil
}
