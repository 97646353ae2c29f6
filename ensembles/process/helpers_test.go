//go:build linux

package process

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// planned is a record of that many members whose network is planned.
func planned(members int) *state.Record {
	r, err := setup.New(ensembles.Process, ensembles.Options{Members: members})
	if err != nil {
		panic(err)
	}
	planNetwork(r)
	return r
}

// mayMakeNetworks reports whether the kernel lets us make network namespaces. Any
// other reason why they cannot be made is a failure: it must not turn tests off.
func mayMakeNetworks(t *testing.T) bool {
	t.Helper()
	r := planned(1)
	err := setUpNetwork(t.Context(), r)
	if errors.Is(err, fs.ErrPermission) {
		return false
	}
	check.OK(t, err)
	check.OK(t, tearDownNetwork(r))
	return true
}

func needsRights(t *testing.T) {
	t.Helper()
	if !mayMakeNetworks(t) {
		t.Skip("we may not make network namespaces here")
	}
}

// recorded returns the record of an ensemble.
func recorded(t *testing.T, id string) state.Record {
	t.Helper()
	records, err := state.List()
	check.OK(t, err)
	i := slices.IndexFunc(records, func(r state.Record) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("no record of %s", id)
	}
	return records[i]
}
