package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// kubectl runs kubectl until it ends; it is killed when ctx is done. read receives its output; nil
// discards it. It ignores the terminal's Ctrl-C.
func (k *Kubernetes) kubectl(ctx context.Context, in []byte, read func(io.Reader) error, args ...string) error {
	all := slices.Concat([]string{"kubectl"}, k.cluster(), args)
	p, err := site.Here{}.Start(site.Program{Args: all, Mark: Mark + "=" + k.Owner})
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("kubectl is not in PATH: install it (https://kubernetes.io/docs/tasks/tools)")
	}
	if err != nil {
		return fmt.Errorf("start kubectl: %w", err)
	}
	defer context.AfterFunc(ctx, p.Kill)()
	wrong, readErr := talk(p, in, read)
	<-p.Exited()
	text, code := p.State()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("kubectl %s: %w%s", args[0], context.Cause(ctx), wrong)
	case code != 0:
		return fmt.Errorf("kubectl %s: %s%s", args[0], text, wrong)
	case readErr != nil:
		return fmt.Errorf("kubectl %s: %w", args[0], readErr)
	}
	return nil
}

// talk writes to a process and reads its output to the end. It returns the output on
// stderr, as a suffix for an error.
func talk(p site.Process, in []byte, read func(io.Reader) error) (wrong string, err error) {
	var text bytes.Buffer
	var streams sync.WaitGroup
	streams.Go(func() {
		_, _ = p.Stdin().Write(in) // the process reports this itself
		_ = p.Stdin().Close()
	})
	streams.Go(func() {
		_, _ = io.Copy(&text, p.Stderr())
		_ = p.Stderr().Close()
	})
	if read != nil {
		err = read(p.Stdout())
	}
	_, _ = io.Copy(io.Discard, p.Stdout())
	_ = p.Stdout().Close()
	streams.Wait()
	if said := strings.TrimSpace(text.String()); said != "" {
		wrong = ": " + said
	}
	return wrong, err
}

func into(w io.Writer) func(io.Reader) error {
	return func(r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	}
}

// cluster returns kubectl's flags for the context and namespace.
func (k *Kubernetes) cluster() (flags []string) {
	for _, name := range []string{"context", "namespace"} {
		if value := k.options[name]; value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	return flags
}
