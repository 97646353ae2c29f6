package auto

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Enter replaces this process by the same program with the arguments args (including args[0]) inside
// namespaces of package rootless, if they are required to cut the networks of the members that
// [Start] will start or find.
//
// If that is not needed or not possible, Enter returns nil. If it is not possible, Enter has logged
// the reason.
func Enter(ctx context.Context, o ensembles.Options, args []string) error {
	o.Logf = setup.Logf(o)
	kind, err := choose(o)
	if err != nil || rootless.Inside() || rootless.Rights() == nil {
		return err
	}
	join, why := place(ctx, kind, o)
	if why == "" {
		return nil
	}
	if join == nil {
		if err := rootless.Possible(ctx); err != nil {
			o.Logf("%v", err)
			return nil
		}
	}
	if err := shareRecords(); err != nil {
		return err
	}
	o.Logf("running in namespaces created by this user: %s", why)
	if join != nil {
		return rootless.Join(*join, args)
	}
	return rootless.Enter(args)
}

// shareRecords makes the process inside the namespaces use the same folder of records, although its
// user ID differs.
func shareRecords() error { return os.Setenv("ZKBENCH_STATE", state.Dir()) }

// place returns the reason to enter namespaces for the ensemble of the options, or "". join is the
// place of an ensemble that already runs in namespaces; nil otherwise.
func place(ctx context.Context, kind ensembles.Kind, o ensembles.Options) (join *rootless.Place, why string) {
	switch kind {
	case ensembles.Process:
		return nil, "the members' networks are created there"
	case ensembles.Auto:
	default:
		return nil, ""
	}
	if r := keptElsewhere(o); r != nil {
		p, err := process.Place(*r)
		if err == nil {
			return &p, "kept ensemble " + r.ID + " has its networks there"
		}
		o.Logf("kept ensemble %s is not used: %v", r.ID, err)
	}
	quiet := o
	quiet.Logf = func(string, ...any) {}
	if e := findKept(ctx, quiet); e != nil {
		_ = e.Down(ctx) // Down only detaches
		return nil, ""
	}
	if err := container.Available(ctx); err != nil {
		return nil, fmt.Sprintf("the members' networks are created there; using local JVMs instead of containers: %v", err)
	}
	return nil, ""
}

// keptElsewhere returns a persistent ensemble that fits the options and whose networks are in other
// namespaces, or nil.
func keptElsewhere(o ensembles.Options) *state.Record {
	if o.Keep {
		return nil
	}
	records, err := state.List()
	if err != nil {
		o.Logf("cannot list all kept ensembles: %v", err)
	}
	for _, r := range records {
		if r.Keep && !r.Here() && misfit(r, o) == "" {
			return &r
		}
	}
	return nil
}

// Elsewhere returns a command that runs this program with these arguments in the network namespace
// of an ensemble that is not [state.Record.Here].
func Elsewhere(ctx context.Context, r state.Record, args ...string) (*exec.Cmd, error) {
	p, err := process.Place(r)
	if err == nil {
		err = shareRecords()
	}
	if err != nil {
		return nil, err
	}
	return rootless.JoinCommand(ctx, p, args...), nil
}
