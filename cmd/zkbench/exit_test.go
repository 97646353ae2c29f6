package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
)

// exitCodeOf returns the exit code of a command that failed.
func exitCodeOf(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return strconv.Itoa(e.ExitCode())
	}
	return err.Error()
}

func TestExitCode(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := exitError{errors.New("broken"), exitBroken}
	for _, row := range []struct {
		about string
		ctx   context.Context
		err   error
		want  int
	}{
		{"all is well", t.Context(), nil, 0},
		{"a guarantee was broken", t.Context(), broken, 1},
		{"a wrong call", t.Context(), usageError("no"), 2},
		{"something that nobody foresaw is not a pass", t.Context(), errors.New("?"), 3},
		{"a broken guarantee counts more than what else went wrong", t.Context(), errors.Join(errors.New("?"), broken), 1},
		{"also than what could not be judged", t.Context(), errors.Join(exitError{errors.New("?"), exitUnknown}, fmt.Errorf("and: %w", broken)), 1},
		{"an interrupted run says so", cancelled, errors.Join(context.Canceled, exitError{errors.New("?"), exitUnknown}), 130},
		{"an interrupted run that found a broken guarantee says that it was interrupted", cancelled, broken, 130},
	} {
		t.Run(row.about, func(t *testing.T) {
			if got := exitCode(row.ctx, row.err); got != row.want {
				t.Errorf("exit code %d, want %d", got, row.want)
			}
		})
	}
}
