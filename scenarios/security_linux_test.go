package scenarios

import (
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
)

// A process that no process of this run has started does not get through a client's listener.
func TestOwnProcesses_refusesStrangers(t *testing.T) {
	var said []string
	tap := wire.New(history.Start().Now)
	defer tap.Close()
	tap.SetAdmit(observer.OwnProcesses(func(format string, args ...any) { said = append(said, format) }))
	addr, err := tap.Client(0).Listen(ensemble.Servers()[0], nil)
	must(t, err)
	// ruok is answered to whoever is let through.
	const ask = `import socket, sys, os
parent = os.getpid()
if os.fork(): os._exit(0)
while os.getppid() == parent: pass
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    s.sendall(b"ruok")
    print(s.recv(4))
except ConnectionResetError:
    print("reset")
`
	_, port, _ := net.SplitHostPort(addr)
	// Without a subreaper the daemon becomes a child of init: a stranger.
	cmd := exec.CommandContext(t.Context(), "python3", "-I", "-c", ask, port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	must(t, err)
	if got := strings.TrimSpace(string(out)); got != "reset" || len(said) != 1 {
		t.Errorf("a stranger gets %q; it was logged %d times", got, len(said))
	}
	own, err := net.Dial("tcp", addr)
	must(t, err)
	defer own.Close()
	_, err = own.Write([]byte("ruok"))
	must(t, err)
	if got, err := io.ReadAll(own); string(got) != "imok" {
		t.Errorf("this process gets %q, %v", got, err)
	}
}
