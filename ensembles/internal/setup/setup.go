// Package setup has the common parts of the kinds of ensemble that zkbench starts.
package setup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// MaxMembers is the largest number of members, which fits into the smallest subnet of an ensemble.
const MaxMembers = 29

// The ports of a member that has its own address.
const (
	ClientPort   = 2181
	QuorumPort   = 2888
	ElectionPort = 3888
)

// New validates the options and returns the record of an ensemble that this process owns. It sets the
// fields that do not depend on the kind.
func New(kind ensembles.Kind, o ensembles.Options) (*state.Record, error) {
	if o.Members == 0 {
		o.Members = 3
	}
	if o.Members < 0 || o.Observers < 0 || o.Members+o.Observers > MaxMembers {
		return nil, fmt.Errorf("an ensemble cannot have %d members and %d observers: the total must be between 1 and %d", o.Members, o.Observers, MaxMembers)
	}
	if o.Tick == 0 {
		o.Tick = 2 * time.Second
	}
	if o.Tick < time.Millisecond {
		return nil, fmt.Errorf("a tick of %v is not possible: ZooKeeper requires whole milliseconds", o.Tick)
	}
	for _, word := range o.Secure {
		if !slices.Contains(ensembles.Secures, word) {
			return nil, fmt.Errorf("unknown security %q of an ensemble: choose %s", word, strings.Join(ensembles.Secures, ", "))
		}
	}
	if o.Keep && len(o.Secure) > 0 {
		return nil, errors.New("a kept ensemble cannot be secured: the certificate and password for its clients exist only in this process")
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails: crypto/rand crashes the program instead
	r := &state.Record{
		ID: hex.EncodeToString(id), Kind: kind, Owner: state.Self(), Keep: o.Keep,
		Created: time.Now(), Tick: o.Tick, FirstZxid: o.FirstZxid, Secure: o.Secure,
	}
	for i := range o.Members + o.Observers {
		r.Members = append(r.Members, state.Member{
			Name: fmt.Sprintf("zk%d", i+1), ID: i + 1, Observer: i >= o.Members,
			Ports: [3]int{ClientPort, QuorumPort, ElectionPort},
		})
	}
	return r, nil
}

func Logf(o ensembles.Options) func(format string, args ...any) {
	if o.Logf != nil {
		return o.Logf
	}
	return func(string, ...any) {}
}

// WaitServing waits until the ensemble serves, within the timeout.
func WaitServing(ctx context.Context, e *ensembles.Ensemble, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
	defer cancel()
	return ensembles.WaitServing(ctx, e)
}

// Version returns the version of the first serving member, or "".
func Version(ctx context.Context, e *ensembles.Ensemble) string {
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() {
			return s.Server.Version
		}
	}
	return ""
}

// Once returns a function that calls do until it has succeeded once.
func Once(do func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	done := false
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return nil
		}
		err := do(ctx)
		done = err == nil
		return err
	}
}

// Flags returns the JVM flags of the record's members. ZooKeeper's class Leader reads the property.
func Flags(r *state.Record) (flags []string) {
	if r.FirstZxid > 0 {
		flags = append(flags, fmt.Sprintf("-Dzookeeper.testingonly.initialZxid=%d", r.FirstZxid))
	}
	return flags
}
