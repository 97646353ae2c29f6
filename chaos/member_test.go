package chaos

import (
	"context"
	"errors"
	"testing"
)

func TestAct_undoesWhatItCannotProve(t *testing.T) {
	broken := errors.New("broken")
	ok := func(context.Context) error { return nil }
	bad := func(context.Context) error { return broken }
	for _, row := range []struct {
		name   string
		do     func(context.Context) error
		proof  error
		undo   func(context.Context) error
		undone bool
		want   error
	}{
		{"done and proven, it stays", ok, nil, ok, false, nil},
		{"not proven, it is undone", ok, ErrNoEffect, ok, true, ErrNoEffect},
		{"not done, it is undone", bad, nil, ok, true, broken},
		{"not undone, it says so", bad, nil, bad, true, ErrNotHealed},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			undone := false
			err := act(ctx, func(ctx context.Context) error { defer cancel(); return row.do(ctx) },
				func() error { return row.proof },
				func(ctx context.Context) error {
					if ctx.Err() != nil {
						t.Error("the undoing was cancelled too")
					}
					undone = true
					return row.undo(ctx)
				})
			if undone != row.undone || !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("undone %v, %v", undone, err)
			}
		})
	}
}
