package container

import (
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
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

// A persistent ensemble outlives its process: here its labels say that the owner is dead.
func TestAttach_controlsAKeptEnsemble(t *testing.T) {
	p := planned(t, docker(t), ensembles.Options{Keep: true, Members: 1})
	p.Owner.Start, p.direct = "the one before", true
	e, err := p.start(t.Context())
	check.OK(t, err)

	attached, err := Attach(t.Context(), *listed(t, e.ID))
	check.OK(t, err)
	if attached.Members[0].Addr != e.Members[0].Addr || attached.Version != e.Version || attached.Tick != e.Tick {
		t.Errorf("attached to %+v, started %+v", attached, e)
	}
	check.OK(t, attached.Members[0].Machine.Kill(t.Context()))
	check.Running(t, e.Members[0], false)
	check.OK(t, attached.Down(t.Context()))
	if listed(t, e.ID) == nil {
		t.Errorf("%s is not listed", e.ID)
	}

	sweepOne(t, e.ID, false)
	if n := count(t, e.ID); n != 2 {
		t.Fatalf("a sweep left %d of the 2 things of a persistent ensemble", n)
	}
	if removed := sweepOne(t, e.ID, true); !strings.Contains(removed, e.ID) {
		t.Errorf("the sweep does not say that it removed %s: %q", e.ID, removed)
	}
	if n := count(t, e.ID); n != 0 {
		t.Errorf("a sweep of all left %d things", n)
	}
	if listed(t, e.ID) != nil {
		t.Errorf("%s is listed", e.ID)
	}
}

// sweepOne is Sweep for one ensemble: another test on this machine may keep its own.
func sweepOne(t *testing.T, id string, all bool) (removed string) {
	t.Helper()
	docker, err := Docker(t.Context())
	check.OK(t, err)
	defer docker.Close()
	ours, err := find(t.Context(), docker, id)
	check.OK(t, err)
	lines, err := sweep(t.Context(), docker, ours, all)
	check.OK(t, err)
	return strings.Join(lines, "\n")
}

func TestSweep_removesWhatACrashedRunLeft(t *testing.T) {
	p := planned(t, docker(t), ensembles.Options{Members: 1})
	p.Owner.Start, p.direct = "the one before", true
	_, err := p.start(t.Context())
	check.OK(t, err)
	_, err = Sweep(t.Context(), false)
	check.OK(t, err)
	if n := count(t, p.ID); n != 0 {
		t.Errorf("%d containers and networks of a dead owner are left", n)
	}
}
