package state

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// connector is a program that connects to an address and stays.
const connector = "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"

func TestFromHere_knowsWhoConnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	accept := func() net.Conn {
		t.Helper()
		c, err := l.Accept()
		check.OK(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	own, err := net.Dial("tcp", l.Addr().String())
	check.OK(t, err)
	defer own.Close()
	if ours, known := FromHere(accept()); !ours || !known {
		t.Errorf("this process: %v, known: %v", ours, known)
	}
	child := exec.Command("python3", "-I", "-c", connector, port)
	in, err := child.StdinPipe()
	check.OK(t, err)
	check.OK(t, child.Start())
	defer child.Wait()
	defer in.Close()
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	// setsid forks; the shell between ends, with a cleared environment.
	shell := exec.Command("sh", "-c", `env -i setsid /usr/bin/python3 -I -c "$1" "$2" <"$3" & echo $!`, "sh",
		"import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)", port, os.DevNull)
	out, err := shell.StdoutPipe()
	check.OK(t, err)
	check.OK(t, shell.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	check.OK(t, err)
	_ = shell.Wait()
	c, err := l.Accept()
	check.OK(t, err)
	if ours, known := FromHere(c); ours != adopts || !known {
		t.Errorf("ours: %v, known: %v", ours, known)
	}
	c.Close() // the daemon ends
	if _, err := strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Error(err)
	}
}

// A connection is looked up among many processes: at each start of a client, and at each reconnection.
func BenchmarkFromHere(b *testing.B) {
	for range 40 {
		idle := exec.Command("python3", "-I", "-c", "import sys, threading; [threading.Thread(target=sys.stdin.read, daemon=True).start() for _ in range(5)]; sys.stdin.read()")
		in, err := idle.StdinPipe()
		check.OK(b, err)
		check.OK(b, idle.Start())
		defer idle.Wait()
		defer in.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(b, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	child := exec.Command("python3", "-I", "-c", connector, port)
	in, err := child.StdinPipe()
	check.OK(b, err)
	check.OK(b, child.Start())
	defer child.Wait()
	defer in.Close()
	theirs, err := l.Accept()
	check.OK(b, err)
	own, err := net.Dial("tcp", l.Addr().String())
	check.OK(b, err)
	defer own.Close()
	ours, err := l.Accept()
	check.OK(b, err)
	for b.Loop() {
		for _, c := range []net.Conn{theirs, ours} { // never the last one again
			if ours, known := FromHere(c); !ours || !known {
				b.Fatal(ours, known)
			}
		}
	}
}

// This process is known after many others have connected.
func TestFromHere_afterManyOthers(t *testing.T) {
	for pid := range 2 * peersKept {
		remember(Process{PID: -pid - 1})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer l.Close()
	own, err := net.Dial("tcp", l.Addr().String())
	check.OK(t, err)
	defer own.Close()
	c, err := l.Accept()
	check.OK(t, err)
	defer c.Close()
	if ours, known := FromHere(c); !ours || !known {
		t.Errorf("this process: %v, known: %v", ours, known)
	}
}

// The processes that a run ends with its own are those below it.
func TestDescendants_doNotIncludeThisProcess(t *testing.T) {
	child := exec.Command("sleep", "60")
	check.OK(t, child.Start())
	defer child.Wait()
	defer child.Process.Kill()
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
