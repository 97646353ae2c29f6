package network

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// children are what this test binary can be when it is started as a child, to be killed.
var children = map[string]func(){}

func TestMain(m *testing.M) {
	RunAgentIfAsked()
	if child := children[os.Getenv("ZKBENCH_TEST_CHILD")]; child != nil {
		child()
		return
	}
	goleak.VerifyTestMain(m)
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
