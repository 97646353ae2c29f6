package container

import (
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestConnect_saysWhyThereIsNoDocker(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", silent)
	check.OK(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	check.OK(t, l.Close())
	for name, test := range map[string]struct{ path, want string }{
		"there is no socket":         {filepath.Join(t.TempDir(), "none.sock"), "install and start Docker"},
		"nobody listens at a socket": {silent, "systemctl start docker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", "unix://"+test.path)
			for _, err := range []error{Available(t.Context()), second(Sweep(t.Context(), false))} {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) {
					t.Errorf("got %v, want %q", err, test.want)
				}
			}
		})
	}
}

func TestConnect_refusesAnotherDaemonThanTheOneThatIsAsked(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	if err := checkSameDaemon("unix:///var/run/docker.sock"); err == nil || !strings.Contains(err.Error(), "DOCKER_HOST=tcp://127.0.0.1:1 does not answer") {
		t.Errorf("another: %v", err)
	}
	if err := checkSameDaemon("tcp://127.0.0.1:1"); err != nil {
		t.Errorf("the same: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// As root no socket is closed to us, so the error is made up.
func TestExplain_namesTheDockerGroup(t *testing.T) {
	denied := &net.OpError{Op: "dial", Net: "unix", Err: syscall.EACCES}
	err := explain("/var/run/docker.sock", denied)
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v hides its cause", err)
	}
	for _, want := range []string{"docker group", "--ensemble process", "/var/run/docker.sock"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not hold %q", err, want)
		}
	}
}
