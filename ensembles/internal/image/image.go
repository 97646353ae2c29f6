// Package image builds a ZooKeeper container image from Debian's packages, for machines that cannot
// pull the official one.
//
// The image has the official image's interface: /conf/zoo.cfg and /data/myid are written only if
// they do not exist, then zkServer.sh start-foreground runs as the user zookeeper.
package image

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/group"
)

// Name is the image that Build makes, with the version of ZooKeeper in Debian trixie. Older
// images without -tls in their name lack the libraries for TLS.
const Name = "zkbench/zookeeper-tls:3.9.3"

const stopTimeout = 20 * time.Second

//go:embed build.sh train.sh zkServer.sh docker-entrypoint.sh
var scripts embed.FS

var needed = []struct{ program, in string }{{"mmdebstrap", "mmdebstrap"}, {"docker", "docker.io"}}

// CanBuild returns nil if the image can be built, or an error with the missing parts and their packages.
func CanBuild() error {
	if runtime.GOOS != "linux" {
		return errors.New("the local image can be built on Linux only")
	}
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root (use sudo)")
	}
	for _, n := range needed {
		if _, err := exec.LookPath(n.program); err != nil {
			missing = append(missing, fmt.Sprintf("%s (apt-get install %s)", n.program, n.in))
		}
	}
	if missing != nil {
		return fmt.Errorf("building the local image requires %s", strings.Join(missing, " and "))
	}
	return nil
}

// Build builds the image [Name] in the Docker daemon at host (as in DOCKER_HOST; empty for the default
// daemon). It takes most of a minute, or no time if the image exists.
func Build(ctx context.Context, host string) error { return build(ctx, host, Name) }

func build(ctx context.Context, host, name string) error {
	if err := CanBuild(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zkbench-image-")
	if err != nil {
		return fmt.Errorf("building %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, scripts); err != nil {
		return fmt.Errorf("building %s: %w", name, err)
	}
	run := exec.CommandContext(ctx, "sh", filepath.Join(dir, "build.sh"), name)
	run.WaitDelay = stopTimeout
	group.Detach(run, syscall.SIGTERM) // mmdebstrap unmounts and removes its folder
	run.Env = append(os.Environ(), "TMPDIR="+dir)
	if host != "" {
		run.Env = append(run.Env, "DOCKER_HOST="+host)
	}
	if output, err := run.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("building %s: %w\n%s", name, err, tail(output, 4096))
	}
	return nil
}

func tail(output []byte, n int) string {
	return strings.TrimSpace(string(output[max(0, len(output)-n):]))
}
