package network

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// children are the cuts that this test binary can make when it is started as a child, to be killed.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	RunAgentIfAsked()
	if cut := children[os.Getenv("ZKBENCH_TEST_CHILD")]; cut != nil {
		if err := cut(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("cut")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	goleak.VerifyTestMain(m)
}

// startChild starts a child that makes a cut, and returns a function that kills it.
func startChild(t *testing.T, name string, env ...string) (kill func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), "ZKBENCH_TEST_CHILD="+name), env...)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // open until the child is killed
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "cut\n" {
		t.Errorf("the child said %q, %v", line, err)
	}
	return func() {
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within polls until the condition holds, and fails the test when it does not in time.
func within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New(what))
	defer cancel()
	for !holds() {
		must(t, context.Cause(ctx))
		time.Sleep(time.Millisecond)
	}
}

// connectsTo reports whether a TCP connection can be made.
func connectsTo(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, 150*time.Millisecond)
	if err == nil {
		c.Close()
	}
	return err == nil
}
