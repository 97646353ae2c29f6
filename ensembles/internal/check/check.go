// Package check has helpers for tests of all kinds of ensemble.
package check

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
)

// Main runs a package's tests with a temporary state folder, and fails if a goroutine is left.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "zkbench-test-state-")
	if err != nil {
		panic(err)
	}
	os.Setenv("ZKBENCH_STATE", dir)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// OK ends the test as failed if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error fails the test unless err contains each of the texts; "" stands for no error.
func Error(t testing.TB, err error, want ...string) {
	t.Helper()
	for _, text := range want {
		if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("got the error %v, want %q in it", err, text)
		}
	}
}

// Contains fails the test unless text contains each of the parts.
func Contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// Within returns a context that ends with the test, or after d.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Eventually waits until a condition, whose name is what, holds, and fails the test after 30 s.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if err := wait.Until(Within(t, 30*time.Second), 10*time.Millisecond, holds); err != nil {
		t.Fatalf("not within 30 s: %s", what)
	}
}

// Down stops the ensemble at the end of the test. An error of Down makes the test fail.
func Down(t testing.TB, e *ensembles.Ensemble) {
	t.Helper()
	t.Cleanup(func() {
		if err := e.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Mode returns a member's mode, or "" if the member does not serve.
func Mode(ctx context.Context, m *ensembles.Member) string {
	return ensembles.Status(ctx, &ensembles.Ensemble{Members: []*ensembles.Member{m}})[0].Server.Mode
}

// WithMode returns the first member that reports that mode, such as [ensembles.ModeLeader].
func WithMode(t testing.TB, e *ensembles.Ensemble, mode string) *ensembles.Member {
	t.Helper()
	for _, s := range ensembles.Status(t.Context(), e) {
		if s.Server.Mode == mode {
			return s.Member
		}
	}
	t.Fatalf("no member is %s", mode)
	return nil
}

// Running fails the test unless a member's process runs or does not run, as wanted.
func Running(t testing.TB, m *ensembles.Member, want bool) {
	t.Helper()
	if got, err := m.Machine.Running(t.Context()); err != nil || got != want {
		t.Fatalf("%s runs: %v, %v; want %v", m.Name, got, err, want)
	}
}
