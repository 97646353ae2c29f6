package site

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func startInside(t *testing.T, serve Inside) Process {
	t.Helper()
	p, err := serve.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Exited()
		for _, end := range []io.Closer{p.Stdin(), p.Stdout(), p.Stderr()} {
			_ = end.Close() // a test may have closed it
		}
	})
	return p
}

func TestInside_isAProgramToWhoeverTalksToIt(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		says string
	}{{nil, 0, ""}, {errors.New("line 3 is no request"), 1, "line 3 is no request\n"}} {
		p := startInside(t, func(_ context.Context, in io.Reader, out io.Writer) error {
			_, err := io.Copy(out, in)
			return errors.Join(err, test.err)
		})
		if _, err := io.WriteString(p.Stdin(), "hello"); err != nil {
			t.Fatal(err)
		}
		if err := p.Stdin().Close(); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(p.Stdout())
		if string(said) != "hello" || err != nil {
			t.Errorf("stdout: %q, %v", said, err)
		}
		if said, err := io.ReadAll(p.Stderr()); string(said) != test.says || err != nil {
			t.Errorf("stderr: %q, %v, want %q", said, err, test.says)
		}
		<-p.Exited()
		if text, code := p.State(); code != test.code || !strings.Contains(text+"\n", test.says) {
			t.Errorf("it ended with %d (%s), want %d", code, text, test.code)
		}
	}
}

// Nobody reads any more from one whose coordinator is gone.
func TestInside_isKilledInTheMiddleOfALine(t *testing.T) {
	writing := make(chan struct{})
	p := startInside(t, func(_ context.Context, _ io.Reader, out io.Writer) error {
		close(writing)
		_, err := out.Write(bytes.Repeat([]byte("x"), 1<<20)) // more than a pipe takes
		return err
	})
	<-writing
	p.Kill()
	<-p.Exited()
	if _, code := p.State(); code == 0 {
		t.Error("it ended as if all were well")
	}
	if p.Pause() == nil {
		t.Error("it was stopped, and with it everybody in the process")
	}
}
