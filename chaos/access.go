package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/zkbench/zkbench/ensembles"
)

// access carries out orders in one member's network namespace: directly, or by an
// agent.
type access struct {
	// namespace identifies the namespace. A member that was started again may have a
	// new one, to which this is no access.
	namespace string
	alive     func() bool // false once it takes no more orders
	ask       func(ctx context.Context, o order) (answer, error)
	close     func(ctx context.Context) error
}

// do carries out an order, and turns an error in the answer into an error.
func (a *access) do(ctx context.Context, o order) (answer, error) {
	got, err := a.ask(ctx, o)
	switch {
	case err != nil || got.Err == "":
		return got, err
	case got.Skipped:
		return got, skipped{got.Err}
	}
	return got, errors.New(got.Err)
}

// openPath opens a namespace that has a path here, with this process's rights.
func openPath(m *ensembles.Member, owner string) (*access, error) {
	ns, err := os.Open(m.NetNS)
	if err != nil {
		return nil, fmt.Errorf("%s: open its network namespace: %w", m.Name, err)
	}
	defer ns.Close() // the socket keeps the namespace
	f, err := openFilter(int(ns.Fd()), owner)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.Name, m.NetNS, err)
	}
	return &access{
		alive: func() bool { return true },
		ask:   func(_ context.Context, o order) (answer, error) { return f.do(o), nil },
		close: func(context.Context) error { return f.close() },
	}, nil
}

// skipped is the text of an agent's error that wrapped ErrSkipped there.
type skipped struct{ text string }

func (s skipped) Error() string { return s.text }
func (s skipped) Unwrap() error { return ErrSkipped }
