// Package auto starts the kind of ensemble in the options, or the first kind that works on this
// machine: a persistent ensemble that is up, containers, local JVMs.
//
//	e, err := auto.Start(ctx, ensembles.Options{Logf: log.Printf})
//
// Logf receives the choice and its reason.
package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

const persistentTimeout = 5 * time.Second

// Start starts or finds an ensemble of the kind in the options. Auto uses a persistent ensemble
// that fits the options and serves; an explicit kind always starts a new ensemble. Start first removes
// the leftovers of crashed runs.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	o.Logf = setup.Logf(o)
	kind, err := choose(o)
	if err != nil {
		return nil, err
	}
	if kind == ensembles.External {
		return external.Start(ctx, o)
	}
	removed, err := Sweep(ctx, false)
	for _, line := range removed {
		o.Logf("removed leftovers of a crashed run: %s", line)
	}
	if err != nil {
		o.Logf("cannot remove leftovers of a crashed run: %v", err)
	}
	switch kind {
	case ensembles.Container:
		return container.Start(ctx, o)
	case ensembles.Process:
		return process.Start(ctx, o)
	}
	if e := findPersistent(ctx, o); e != nil {
		return e, nil
	}
	return startDefault(ctx, o)
}

// choose returns the kind that the options require. An option that only one kind supports selects that kind
// if o.Kind is Auto or empty, and is an error if o.Kind is another kind.
func choose(o ensembles.Options) (ensembles.Kind, error) {
	kind := cmp.Or(o.Kind, ensembles.Auto)
	switch kind {
	case ensembles.Auto, ensembles.Container, ensembles.Process, ensembles.External:
	default:
		return "", fmt.Errorf("unknown kind of ensemble %q: choose auto, container, process or external", kind)
	}
	for _, option := range []struct {
		given bool
		what  string
		to    ensembles.Kind
	}{
		{len(o.Servers) > 0, "servers", ensembles.External},
		{o.Image != "", "an image", ensembles.Container},
		{o.Home != "", "a ZooKeeper distribution", ensembles.Process},
	} {
		if !option.given || kind == option.to {
			continue
		}
		if kind != ensembles.Auto {
			return "", fmt.Errorf("%s can be set only for an ensemble of kind %s, not %s", option.what, option.to, kind)
		}
		kind = option.to
	}
	if kind == ensembles.External && o.Observers > 0 {
		return "", errors.New("the number of observers of an external ensemble cannot be set: srvr shows which members are observers")
	}
	if kind == ensembles.External && len(o.Secure) > 0 {
		return "", errors.New("an external ensemble cannot be secured by zkbench: describe its security in its file (zkbench help ensembles)")
	}
	return kind, nil
}

func startDefault(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	if rootless.Inside() {
		return process.Start(ctx, o) // no container can be reached; Enter has logged the reason
	}
	err := container.Available(ctx)
	if err == nil {
		var e *ensembles.Ensemble
		if e, err = container.Start(ctx, o); err == nil {
			return e, nil
		}
	}
	if ctx.Err() != nil {
		return nil, err
	}
	o.Logf("using local JVMs instead of containers: %v", err)
	e, processErr := process.Start(ctx, o)
	if processErr != nil {
		return nil, fmt.Errorf("no ensemble can be started here\ncontainers: %w\nlocal JVMs: %w", err, processErr)
	}
	return e, nil
}

// persistent returns the records of persistent ensembles, or nil if the options create one.
func persistent(o ensembles.Options) []state.Record {
	if o.Keep {
		return nil
	}
	records, err := state.List()
	if err != nil {
		o.Logf("cannot list all persistent ensembles: %v", err)
	}
	return slices.DeleteFunc(records, func(r state.Record) bool { return !r.Keep })
}

// findPersistent returns a persistent ensemble that fits the options and serves, or nil.
func findPersistent(ctx context.Context, o ensembles.Options) *ensembles.Ensemble {
	for _, r := range persistent(o) {
		if why := unfitReason(r, o); why != "" {
			o.Logf("persistent ensemble %s is not used: %s", r.ID, why)
			continue
		}
		e, err := attach(ctx, r)
		if err != nil {
			o.Logf("persistent ensemble %s is not used: %v (zkbench ensemble down removes it)", r.ID, err)
			continue
		}
		o.Logf("using persistent ensemble %s: %s", e.ID, e.About)
		return e
	}
	return nil
}

func unfitReason(r state.Record, o ensembles.Options) string {
	if why := mismatch(r, o); why != "" || r.InThisNamespace() {
		return why
	}
	return "it is in a different network from this process"
}

// mismatch is like unfitReason, but ignores the network namespace of the ensemble.
func mismatch(r state.Record, o ensembles.Options) string {
	voting := len(r.Ensemble().Voting())
	if o.Members != 0 && o.Members != voting {
		return fmt.Sprintf("its number of members is %d, not %d", voting, o.Members)
	}
	if observers := len(r.Members) - voting; o.Observers != observers {
		return fmt.Sprintf("its number of observers is %d, not %d", observers, o.Observers)
	}
	if len(o.Secure) > 0 {
		return "its members do not require TLS or authentication"
	}
	if o.Tick != 0 && o.Tick != r.Tick {
		return fmt.Sprintf("its tick is %v, not %v", r.Tick, o.Tick)
	}
	if o.FirstZxid != r.FirstZxid {
		return fmt.Sprintf("its first_zxid is %d, not %d", r.FirstZxid, o.FirstZxid)
	}
	return ""
}

func attach(ctx context.Context, r state.Record) (*ensembles.Ensemble, error) {
	attachKind := process.Attach
	if r.Kind == ensembles.Container {
		attachKind = container.Attach
	}
	e, err := attachKind(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := setup.WaitServing(ctx, e, persistentTimeout); err != nil {
		return nil, errors.Join(err, e.Down(ctx))
	}
	return e, nil
}

// Sweep removes this machine's ensembles of both kinds as [process.Sweep] and [container.Sweep] do.
func Sweep(ctx context.Context, all bool) ([]string, error) {
	removed, err := process.Sweep(ctx, all)
	fromContainers, containerErr := container.Sweep(ctx, all)
	return append(removed, fromContainers...), errors.Join(err, tolerate(containerErr))
}

// tolerate drops the error that Docker is not available: zkbench then has no containers.
func tolerate(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	return err
}

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
	join, why := chooseNamespace(ctx, kind, o)
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
	return rootless.Enter(join, args)
}

// shareRecords makes the process inside the namespaces, whose user ID differs, use the same folder of records.
func shareRecords() error { return os.Setenv("ZKBENCH_STATE", state.Dir()) }

// chooseNamespace returns the reason to enter namespaces, or "". join is the place of an ensemble in some, or nil.
func chooseNamespace(ctx context.Context, kind ensembles.Kind, o ensembles.Options) (join *rootless.Place, why string) {
	switch kind {
	case ensembles.Process:
		return nil, "the members' networks are created there"
	case ensembles.Auto:
	default:
		return nil, ""
	}
	if r := persistentElsewhere(o); r != nil {
		p, err := process.Place(*r)
		if err == nil {
			return &p, "persistent ensemble " + r.ID + " has its networks there"
		}
		o.Logf("persistent ensemble %s is not used: %v", r.ID, err)
	}
	quiet := o
	quiet.Logf = func(string, ...any) {}
	if e := findPersistent(ctx, quiet); e != nil {
		_ = e.Down(ctx) // Down only detaches
		return nil, ""
	}
	if err := container.Available(ctx); err != nil {
		return nil, fmt.Sprintf("the members' networks are created there; using local JVMs instead of containers: %v", err)
	}
	return nil, ""
}

func persistentElsewhere(o ensembles.Options) *state.Record {
	for _, r := range persistent(o) {
		if !r.InThisNamespace() && mismatch(r, o) == "" {
			return &r
		}
	}
	return nil
}

// CommandInNamespace returns a command that runs this program with these arguments in the network namespace
// of an ensemble that is not [state.Record.InThisNamespace].
func CommandInNamespace(ctx context.Context, r state.Record, args ...string) (*exec.Cmd, error) {
	p, err := process.Place(r)
	if err == nil {
		err = shareRecords()
	}
	if err != nil {
		return nil, err
	}
	return rootless.Command(ctx, &p, args...), nil
}
