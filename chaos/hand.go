package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/zkbench/zkbench/ensembles"
)

// hand reaches into one member's network namespace: directly, or by an agent.
type hand struct {
	// place identifies the namespace: a member that was started again may have a
	// new one, and then this hand holds on to the old.
	place string
	alive func() bool // false once nothing can be asked any more
	ask   func(ctx context.Context, o order) (answer, error)
	close func(ctx context.Context) error
}

// do asks, and turns an error in the answer into an error.
func (h *hand) do(ctx context.Context, o order) (answer, error) {
	a, err := h.ask(ctx, o)
	switch {
	case err != nil || a.Err == "":
		return a, err
	case a.Skipped:
		return a, refused{a.Err}
	}
	return a, errors.New(a.Err)
}

// openPath reaches into a namespace that we have a path of, and the right to enter.
func openPath(m *ensembles.Member, owner string) (*hand, error) {
	ns, err := os.Open(m.NetNS)
	if err != nil {
		return nil, fmt.Errorf("%s: open its network namespace: %w", m.Name, err)
	}
	defer ns.Close() // the socket keeps the namespace
	f, err := openFilter(int(ns.Fd()), owner)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.Name, m.NetNS, err)
	}
	return &hand{
		alive: func() bool { return true },
		ask:   func(_ context.Context, o order) (answer, error) { return f.do(o), nil },
		close: func(context.Context) error { return f.close() },
	}, nil
}

// refused is an error that an agent told us, and that wraps ErrSkipped there.
type refused struct{ text string }

func (r refused) Error() string { return r.text }
func (r refused) Unwrap() error { return ErrSkipped }
