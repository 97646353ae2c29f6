package container

import (
	"errors"
	"io/fs"
	"net"
	"path/filepath"
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
			check.Error(t, Available(t.Context()), test.want, test.path)
			_, err := Sweep(t.Context(), false)
			check.Error(t, err, test.want, test.path)
		})
	}
}

func TestConnect_refusesAnotherDaemonThanTheOneThatIsAsked(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	check.Error(t, checkSameDaemon("unix:///var/run/docker.sock"), "DOCKER_HOST=tcp://127.0.0.1:1 does not answer")
	check.OK(t, checkSameDaemon("tcp://127.0.0.1:1"))
}

// As root no socket is closed to us, so the error is made up.
func TestExplain_namesTheDockerGroup(t *testing.T) {
	denied := &net.OpError{Op: "dial", Net: "unix", Err: syscall.EACCES}
	err := explain("/var/run/docker.sock", denied)
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v hides its cause", err)
	}
	check.Error(t, err, "docker group", "--ensemble process", "/var/run/docker.sock")
}
