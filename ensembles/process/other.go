//go:build !linux

package process

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// ErrNotLinux says that this system lacks what local JVMs are controlled with.
var ErrNotLinux = errors.New("local JVMs need Linux (use --ensemble container or external)")

// Available says that there are no local JVMs here.
func Available(string) error { return ErrNotLinux }

// Start says that there are no local JVMs here.
func Start(context.Context, ensembles.Options) (*ensembles.Ensemble, error) { return nil, ErrNotLinux }

// Attach says that there are no local JVMs here.
func Attach(context.Context, string) (*ensembles.Ensemble, error) { return nil, ErrNotLinux }

// List finds nothing: there are no local JVMs here.
func List() ([]state.Record, error) { return nil, nil }

// Sweep finds nothing: there are no local JVMs here.
func Sweep(context.Context, bool) ([]string, error) { return nil, nil }
