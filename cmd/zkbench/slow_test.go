package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// The gate of scenario ci is held to subjects whose hand-offs are slower by a known
// share than lock/predecessor's: they are that lock, with a release that waits.
func init() {
	inner, err := recipes.Find("lock/predecessor")
	if err != nil {
		panic(err)
	}
	for _, percent := range []int{0, 5, 10, 100} {
		s := &slowed{share: float64(percent) / 100}
		subject := inner
		subject.Name = "lock/slowed-" + strconv.Itoa(percent)
		subject.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			c, err := inner.Open(ctx, env)
			if err != nil {
				return nil, err
			}
			return slowClient{c.(recipes.Contender), s}, nil
		}
		recipes.Register(subject)
	}
}

// slowed knows how long hand-offs take, over all clients of the subject, and what
// share of it each is to take longer.
type slowed struct {
	share float64

	mu       sync.Mutex
	released time.Time       // when a release was called last; zero once it was followed by a grant
	delay    time.Duration   // that this release waited
	last     []time.Duration // hand-offs without their delay, the latest at the end
}

const remembered = 101

// wait makes the caller late by the share of the median hand-off. It spins: a timer
// is coarser than what is to be waited for.
func (s *slowed) wait() {
	start := time.Now()
	s.mu.Lock()
	var delay time.Duration
	if len(s.last) > 0 {
		sorted := slices.Sorted(slices.Values(s.last))
		delay = time.Duration(s.share * float64(sorted[len(sorted)/2]))
	}
	s.released, s.delay = start, delay
	s.mu.Unlock()
	for time.Since(start) < delay {
	}
}

// granted notes a hand-off.
func (s *slowed) granted() {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released.IsZero() {
		return
	}
	s.last = append(s.last, now.Sub(s.released)-s.delay)
	s.last = s.last[max(0, len(s.last)-remembered):]
	s.released = time.Time{}
}

type slowClient struct {
	recipes.Contender
	s *slowed
}

func (c slowClient) Acquire(ctx context.Context) (recipes.Claim, error) {
	claim, err := c.Contender.Acquire(ctx)
	if err == nil {
		c.s.granted()
	}
	return claim, err
}

func (c slowClient) Release(ctx context.Context) error {
	c.s.wait()
	return c.Contender.Release(ctx)
}
