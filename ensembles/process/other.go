//go:build !linux

package process

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

// errNotLinux means that this system cannot control local JVMs.
var errNotLinux = errors.New("local JVMs need Linux (use --ensemble container or external)")

// Available returns an error: local JVMs need Linux.
func Available(string) error { return errNotLinux }

// Versions returns none: local JVMs need Linux.
func Versions() []string { return nil }

// Start returns an error: local JVMs need Linux.
func Start(context.Context, ensembles.Options) (*ensembles.Ensemble, error) { return nil, errNotLinux }

// Attach returns an error: local JVMs need Linux.
func Attach(context.Context, state.Record) (*ensembles.Ensemble, error) { return nil, errNotLinux }

// Place returns an error: local JVMs need Linux.
func Place(state.Record) (rootless.Place, error) { return rootless.Place{}, errNotLinux }

func Sweep(context.Context, bool) ([]string, error) { return nil, nil }
