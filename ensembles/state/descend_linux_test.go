package state

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// listen returns a listener, its port, and a function that accepts a connection. They end with the test.
func listen(t testing.TB) (l net.Listener, port string, accept func() net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	t.Cleanup(func() { l.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return l, port, func() net.Conn {
		t.Helper()
		c, err := l.Accept()
		check.OK(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
}

// python starts a program that ends when its stdin does, at the end of the test.
func python(t testing.TB, program string, args ...string) {
	t.Helper()
	cmd := exec.Command("python3", append([]string{"-I", "-c", program}, args...)...)
	in, err := cmd.StdinPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
}

// connector is a program that connects to a port and stays.
const connector = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"

func TestFromHere_knowsWhoConnects(t *testing.T) {
	for pid := range 2 * peersKept { // this process is known after many others have connected
		remember(Process{PID: -pid - 1})
	}
	l, port, accept := listen(t)
	own, err := net.Dial("tcp", l.Addr().String())
	check.OK(t, err)
	defer own.Close()
	if ours, known := FromHere(accept()); !ours || !known {
		t.Errorf("this process: %v, known: %v", ours, known)
	}
	python(t, connector, port)
	if ours, known := FromHere(accept()); !ours || !known {
		t.Errorf("a child: %v, known: %v", ours, known)
	}
}

// A daemon's connection is that of a stranger, unless this process has adopted it.
func TestAdopt_keepsDaemonsInSight(t *testing.T) {
	if os.Getenv("ADOPT") == "" {
		for _, adopts := range []string{"yes", "no"} {
			cmd := exec.Command(os.Args[0], "-test.run=TestAdopt_keepsDaemonsInSight", "-test.v")
			cmd.Env = append(os.Environ(), "ADOPT="+adopts)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
				t.Errorf("adopts: %s: %v\n%s", adopts, err, out)
			}
		}
		return
	}
	adopts := os.Getenv("ADOPT") == "yes"
	if adopts {
		check.OK(t, Adopt())
	}
	_, port, accept := listen(t)
	// setsid forks; the shell between ends, with a cleared environment.
	shell := exec.Command("sh", "-c", `env -i setsid /usr/bin/python3 -I -c "$1" "$2" <"$3" &`, "sh",
		"import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)", port, os.DevNull)
	check.OK(t, shell.Run())
	if ours, known := FromHere(accept()); ours != adopts || !known { // the daemon ends with the connection
		t.Errorf("ours: %v, known: %v", ours, known)
	}
}

// A connection is looked up among many processes: at each start of a client, and at each reconnection.
func BenchmarkFromHere(b *testing.B) {
	for range 40 {
		python(b, "import sys, threading; [threading.Thread(target=sys.stdin.read, daemon=True).start() for _ in range(5)]; sys.stdin.read()")
	}
	l, port, accept := listen(b)
	python(b, connector, port)
	theirs := accept()
	own, err := net.Dial("tcp", l.Addr().String())
	check.OK(b, err)
	defer own.Close()
	ours := accept()
	for b.Loop() {
		for _, c := range []net.Conn{theirs, ours} { // never the last one again
			if ours, known := FromHere(c); !ours || !known {
				b.Fatal(ours, known)
			}
		}
	}
}

// The processes that a run ends with its own are those below it.
func TestDescendants_doNotIncludeThisProcess(t *testing.T) {
	sleeper(t, "60")
	all := Descendants()
	if len(all) == 0 {
		t.Error("the child is missing")
	}
	for _, p := range all {
		if p.PID == os.Getpid() {
			t.Error("this process is among them")
		}
	}
}
