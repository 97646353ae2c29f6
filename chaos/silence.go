package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

const (
	// silence is the time for which a member must not answer srvr to count as silent, if it
	// answered within half of that before.
	silence = 60 * time.Millisecond
	// lagLimit bounds the delay between a command of a member's owner and its effect.
	lagLimit = 5 * time.Second
	// returnLimit bounds the wait for a healed member to serve again. Members retry lost peers at
	// growing intervals, up to a minute.
	returnLimit = 90 * time.Second
)

// silenceOf returns how long a member must not answer to count as silent: longer with a TLS
// handshake or an external network.
func silenceOf(m *ensembles.Member) time.Duration {
	if m.Dial != nil || m.Theirs {
		return 15 * silence
	}
	return silence
}

// reachable reports whether the member answers srvr. Any answer counts, also that it has no quorum.
func reachable(ctx context.Context, m *ensembles.Member, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ensembles.FourLetter(ctx, m, "srvr")
	return err == nil && answer != "" || errors.Is(err, ensembles.ErrNotWhitelisted)
}

// silent returns nil if a member that answered before no longer answers.
func silent(ctx context.Context, m *ensembles.Member) error {
	try := func(ctx context.Context) error {
		if reachable(ctx, m, silenceOf(m)) {
			return fmt.Errorf("%w: %s still answers srvr", ErrNoEffect, m.Name)
		}
		return context.Cause(ctx)
	}
	if m.Theirs {
		return poll(ctx, lagLimit, try)
	}
	return try(ctx)
}

// speaks waits until a member answers quickly: otherwise its silence would prove nothing.
func speaks(ctx context.Context, m *ensembles.Member) error {
	err := poll(ctx, memberLimit, func(ctx context.Context) error {
		begin := time.Now()
		if !reachable(ctx, m, silenceOf(m)) || time.Since(begin) > silenceOf(m)/2 {
			return fmt.Errorf("%s did not answer srvr within %v", m.Name, silenceOf(m)/2)
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
		err := ensembles.Status(ctx, alone)[0].Err
		if errors.Is(err, ensembles.ErrNotWhitelisted) {
			return nil // it is up, and reports no more
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s does not serve again: %w", m.Name, err)
	}
	return nil
}
