package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

const (
	// silence is how long a member must not answer srvr to count as silent, if it
	// answered within half of that before.
	silence = 60 * time.Millisecond
	// returnLimit bounds the wait for a healed member to serve again. Members try
	// to reach a lost one at growing intervals, up to a minute.
	returnLimit = 90 * time.Second
)

// reachable reports whether the member answers srvr. Any answer counts, also that
// it has no quorum.
func reachable(ctx context.Context, m *ensembles.Member, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ensembles.FourLetter(ctx, m.Addr, "srvr")
	return err == nil && answer != ""
}

// silent returns nil when a member that answered before does not answer any more.
func silent(ctx context.Context, m *ensembles.Member) error {
	if reachable(ctx, m, silence) {
		return fmt.Errorf("%w: %s still answers srvr", ErrNoEffect, m.Name)
	}
	return context.Cause(ctx)
}

// speaks waits until a member answers quickly. The silence of one that did not would
// prove nothing.
func speaks(ctx context.Context, m *ensembles.Member) error {
	err := poll(ctx, memberLimit, func(ctx context.Context) error {
		begin := time.Now()
		if !reachable(ctx, m, silence) || time.Since(begin) > silence/2 {
			return fmt.Errorf("%s did not answer srvr within %v", m.Name, silence/2)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: its silence after the cut would prove nothing: %w", ErrNoEffect, err)
	}
	return nil
}

// serves waits until the member is part of a quorum again.
func serves(ctx context.Context, m *ensembles.Member) error {
	alone := &ensembles.Ensemble{Members: []*ensembles.Member{m}}
	err := poll(ctx, returnLimit, func(ctx context.Context) error {
		return ensembles.Status(ctx, alone)[0].Err
	})
	if err != nil {
		return fmt.Errorf("%s does not serve again: %w", m.Name, err)
	}
	return nil
}
