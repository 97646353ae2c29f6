//go:build !linux

package process

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

// errNotLinux says that this system lacks what local JVMs are controlled with.
var errNotLinux = errors.New("local JVMs need Linux (use --ensemble container or external)")

// Available says that there are no local JVMs here.
func Available(string) error { return errNotLinux }

// Start says that there are no local JVMs here.
func Start(context.Context, ensembles.Options) (*ensembles.Ensemble, error) { return nil, errNotLinux }

// Attach says that there are no local JVMs here.
func Attach(context.Context, state.Record) (*ensembles.Ensemble, error) { return nil, errNotLinux }

// Place says that there are no local JVMs here.
func Place(state.Record) (rootless.Place, error) { return rootless.Place{}, errNotLinux }

// Sweep finds nothing: there are no local JVMs here.
func Sweep(context.Context, bool) ([]string, error) { return nil, nil }
