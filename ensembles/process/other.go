//go:build !linux

package process

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

var errNotLinux = errors.New("local JVMs need Linux (use --ensemble container or external)")

func Available(string) error { return errNotLinux }

func CheckDisks() error { return errNotLinux }

func Versions() []string { return nil }

func Start(context.Context, ensembles.Options) (*ensembles.Ensemble, error) { return nil, errNotLinux }

func Attach(context.Context, state.Record) (*ensembles.Ensemble, error) { return nil, errNotLinux }

func Place(state.Record) (rootless.Place, error) { return rootless.Place{}, errNotLinux }

func Sweep(context.Context, bool) ([]string, error) { return nil, nil }
