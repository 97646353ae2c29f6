package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/zkbench/zkbench/ensembles/internal/image"
)

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

// pull pulls an image. It makes one attempt: testcontainers would retry permanent errors until the
// context ends.
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

// auth returns the user's credentials for the registry of an image, from Docker's configuration, or ""
// if there are none.
func auth(ctx context.Context, name string) string {
	_, config, err := testcontainers.DockerImageAuth(ctx, name)
	if err != nil {
		return ""
	}
	encoded, _ := authconfig.Encode(config) // "" on an error
	return encoded
}
