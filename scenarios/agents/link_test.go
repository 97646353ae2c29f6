package agents

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err contains want; without want there must be no error.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

func listening(t *testing.T) *Fleet {
	t.Helper()
	f, err := Listen("127.0.0.1:0", "v1", t.Logf)
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	return f
}

// serve has an agent of a version join, and returns what becomes of it.
func serve(t *testing.T, j Join, version string) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- Agent{Name: "a", Version: version, Index: -1, Logf: t.Logf}.Serve(ctx, j) }()
	return done
}

func TestJoin_isReadAsItWasWritten(t *testing.T) {
	j := listening(t).Join("h.example")
	got, err := ParseJoin(j.Encode())
	must(t, err)
	if !strings.HasPrefix(got.Address, "h.example:") || got.Version != "v1" || string(got.Key) != string(j.Key) || string(got.Authority) != string(j.Authority) {
		t.Errorf("%+v", got)
	}
	for what, text := range map[string]string{
		"nothing": "", "prose": "hello", "half of it": string(j.Encode()[:600]),
		"no address": strings.ReplaceAll(string(j.Encode()), headerAddress, "Elsewhere"),
	} {
		if _, err := ParseJoin([]byte(text)); err == nil {
			t.Errorf("%s was taken for a join file", what)
		}
	}
}

func TestServe_joinsAndEndsWithTheRun(t *testing.T) {
	f := listening(t)
	done := serve(t, f.Join(""), "v1")
	must(t, f.Await(t.Context(), 1))
	must(t, f.Close())
	must(t, <-done) // the run is over
}

// Whoever has the certificates of another run, or is another program, is not let in.
func TestServe_isRefused(t *testing.T) {
	f, other := listening(t), listening(t)
	stranger := other.Join("")
	stranger.Address = f.Join("").Address
	half := f.Join("") // knows whom to trust, and has the key of another run
	half.Certificate, half.Key = stranger.Certificate, stranger.Key
	older := f.Join("")
	older.Version = "v0" // a join file that was tampered with: the coordinator looks itself
	for what, row := range map[string]struct {
		join          Join
		version, want string
	}{
		"another run's":                    {stranger, "v1", "certificate"},
		"another run's key":                {half, "v1", "certificate"},
		"another version":                  {f.Join(""), "v0", "the agent is v0, but the coordinator is v1"},
		"another version that says not so": {older, "v0", "the agent is v0, but the coordinator is v1"},
	} {
		t.Run(what, func(t *testing.T) { refused(t, <-serve(t, row.join, row.version), row.want) })
	}
	if n := len(f.alive()); n != 0 {
		t.Errorf("%d agents were let in", n)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("it was long enough"))
	defer cancel()
	refused(t, f.Await(ctx, 1), "0 of 1 agents have joined: it was long enough; the last rejected agent")
}
