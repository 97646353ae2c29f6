package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/zkbench/zkbench/ensembles"
)

// Fetch pulls the images that are not on this machine.
func Fetch(ctx context.Context, images []string, logf func(string, ...any)) error {
	docker, err := connect(ctx)
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

func (p *ensemble) letUpgrade(e *ensembles.Ensemble) {
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
		return m.failed("upgrading", errors.New("the ensemble was started with only one version"))
	}
	old, err := m.inspect(ctx)
	if err != nil {
		return err
	}
	if err := replaceable(old); err != nil {
		return m.failed("upgrading", err)
	}
	var log bytes.Buffer
	if err := m.log(ctx, &log, "all"); err != nil {
		return m.failed("saving the log of", err)
	}
	next, err := m.create(ctx, old.ID, v)
	if err == nil {
		_, err = m.docker.ContainerRemove(ctx, old.ID, client.ContainerRemoveOptions{})
	}
	if err == nil {
		_, err = m.docker.ContainerRename(ctx, next, client.ContainerRenameOptions{NewName: m.id})
	}
	if err != nil {
		return m.failed("upgrading", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.earlier = append(m.earlier, log.Bytes()...)
	return nil
}

// create creates a container of the version with the volumes of the old container, and returns its ID.
// On an error it leaves no container.
func (m *machine) create(ctx context.Context, old string, v ensembles.Version) (id string, err error) {
	request := m.request(v)
	request.Name += "-next"
	modify := request.HostConfigModifier
	request.HostConfigModifier = func(c *dockercontainer.HostConfig) {
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

// Runs returns the version of the member's container, from its label.
func (m *machine) Runs(ctx context.Context) (string, error) {
	c, err := m.inspect(ctx)
	if err != nil {
		return "", err
	}
	name := c.Config.Labels[labelVersion]
	if name == "" {
		return "", m.failed("finding the version of", errors.New("its container has no label with the version"))
	}
	return name, nil
}

func (m *machine) inspect(ctx context.Context) (dockercontainer.InspectResponse, error) {
	reply, err := m.docker.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	if err == nil && (reply.Container.Config == nil || reply.Container.State == nil) {
		err = errors.New("the Docker daemon's reply does not contain the container's state")
	}
	return reply.Container, m.failed("inspecting", err)
}

// replaceable returns an error if another container cannot use the data of this container.
func replaceable(c dockercontainer.InspectResponse) error {
	if c.State.Running {
		return errors.New("it is running")
	}
	for _, dir := range []string{dataDir, logDir} {
		if !slices.ContainsFunc(c.Mounts, func(p dockercontainer.MountPoint) bool { return p.Destination == dir }) {
			return fmt.Errorf("its image %s has no volume for %s, so the data would be lost; the official image has one", c.Config.Image, dir)
		}
	}
	return nil
}
