package production

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/observe"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/observer"
)

// Limits on the requests of live observation.
const (
	requestEvery  = 10 * time.Millisecond // at most 100 requests per second
	maxParents    = 100
	discoverEvery = 10 * time.Second // interval of searches for new parents
	liveTimeout   = 10 * time.Second // of the session
	openTimeout   = 15 * time.Second // to open it
)

// Config has the settings of [Live].
type Config struct {
	Servers  []string // host:port
	Security ensembles.Security
	Chroot   string
	Path     string        // the parents at and below it are observed
	Interval time.Duration // between two reads of a parent
	For      time.Duration
}

// Live observes the nodes at and below a path on one session, until the time is over or ctx ends. It
// reads only, and sets no watches. A node that is created and deleted between two reads is not seen.
func Live(ctx context.Context, c Config, t *observe.Tracker) (*observe.Observation, error) {
	l := &live{config: c, tracker: t, parents: map[string]*parent{}, refused: map[string]bool{}, pace: time.NewTicker(requestEvery)}
	defer l.pace.Stop()
	defer func() {
		if l.session != nil {
			_ = l.session.Close()
		}
	}()
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	over, cancel := context.WithTimeout(ctx, c.For)
	defer cancel()
	t.Start(time.Now())
	if err := l.observe(over); err != nil {
		if len(l.parents) == 0 {
			return nil, err
		}
		t.AddIncompleteReason("reading ended at %s: %v", time.Now().UTC().Format(time.TimeOnly), err)
	}
	source := fmt.Sprintf("%s, read every %v with %s on one session without watches. Creation times are from the servers. Removal times are from this machine's clock, and may be up to %v late.",
		strings.Join(c.Servers, ","), c.Interval, units.Plural(l.requests, "request"), c.Interval)
	if l.missed > 0 {
		source += fmt.Sprintf(" Missed because they fell between two reads: %s.", units.Plural(l.missed, "change"))
	}
	return t.Done(time.Now(), source), nil
}

type live struct {
	config       Config
	tracker      *observe.Tracker
	session      *recipes.Session
	pace         *time.Ticker
	parents      map[string]*parent
	requests     int
	missed       int
	refused      map[string]bool
	limitReached bool // there are more parents than are read
}

// parent is a node with sequential children, and its state at the last read.
type parent struct {
	seen    bool
	version int32 // cversion: it counts creations and deletions of children
	names   map[string]bool
}

func (l *live) open(ctx context.Context) error {
	options := observer.HarnessOptions(&ensembles.Ensemble{Security: l.config.Security}, liveTimeout)
	options.MaxPacket = 4 << 20
	ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, fmt.Errorf("no session was opened within %v: check that the servers are up and reachable, and that this is their client port", openTimeout))
	defer cancel()
	s, err := recipes.Open(ctx, l.config.Servers, options)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(l.config.Servers, ","), cmp.Or(context.Cause(ctx), err))
	}
	l.session = s
	return nil
}

func (l *live) observe(ctx context.Context) error {
	ticker := time.NewTicker(l.config.Interval)
	defer ticker.Stop()
	var discoveredAt time.Time
	for {
		err := error(nil)
		if time.Since(discoveredAt) >= discoverEvery {
			discoveredAt = time.Now()
			err = l.discover(ctx)
		}
		for at, p := range l.parents {
			if err != nil {
				break
			}
			err = l.readParent(ctx, at, p)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, recipes.ErrSessionEnded):
			l.tracker.AddIncompleteReason("changes while no session was open are unknown: %v", err)
			_ = l.session.Close()
			for l.open(ctx) != nil { // each attempt ends after openTimeout
				if ctx.Err() != nil {
					return nil
				}
			}
			continue
		case err != nil:
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *live) request(ctx context.Context) error {
	select {
	case <-l.pace.C:
		l.requests++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// discover finds parents at and below the path: the nodes that have children and are not ephemeral.
func (l *live) discover(ctx context.Context) error {
	queue := []string{l.config.Path}
	for len(queue) > 0 && len(l.parents) < maxParents {
		at := queue[0]
		queue = queue[1:]
		if err := l.request(ctx); err != nil {
			return err
		}
		names, err := l.session.List(ctx, l.config.Chroot+at)
		if err != nil {
			if at != l.config.Path && errors.Is(err, zk.ErrNoNode) {
				continue // removed since its parent was listed
			}
			if at != l.config.Path && errors.Is(err, zk.ErrNoAuth) {
				if !l.refused[at] {
					l.refused[at] = true
					l.tracker.AddIncompleteReason("%s cannot be read with these credentials", at)
				}
				continue
			}
			return err
		}
		if l.parents[at] == nil {
			l.parents[at] = &parent{names: map[string]bool{}}
		}
		for _, name := range names {
			if _, _, sequential := observe.Sequential(name); !sequential {
				queue = append(queue, path.Join(at, name))
			}
		}
	}
	if len(queue) > 0 && !l.limitReached {
		l.limitReached = true
		l.tracker.AddIncompleteReason("only the first %d parent nodes are read: choose a more specific --path", maxParents)
	}
	return nil
}

func (l *live) readParent(ctx context.Context, at string, p *parent) error {
	if err := l.request(ctx); err != nil {
		return err
	}
	stat, err := l.session.Exists(ctx, l.config.Chroot+at)
	if err != nil {
		return err
	}
	if stat == nil {
		l.removed(at, p)
		return nil
	}
	if p.seen && stat.Cversion == p.version {
		return nil
	}
	if err := l.request(ctx); err != nil {
		return err
	}
	names, err := l.session.List(ctx, l.config.Chroot+at)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		l.removed(at, p)
		return nil
	case err != nil:
		return err
	}
	changes := 0
	slices.SortFunc(names, byNumber)
	for _, name := range names {
		if p.names[name] {
			continue
		}
		known, err := l.readNode(ctx, at, name, p.seen)
		if err != nil {
			return err
		}
		if known {
			p.names[name] = true
			changes++
		}
	}
	now, gone := time.Now(), slices.SortedFunc(maps.Keys(p.names), byNumber)
	for _, name := range gone { // after the new ones, which waited for them
		if !slices.Contains(names, name) {
			l.tracker.Delete(path.Join(at, name), observe.UnknownCause, 0, now)
			delete(p.names, name)
			changes++
		}
	}
	if p.seen {
		l.missed += max(0, int(stat.Cversion-p.version)-changes)
	}
	p.seen, p.version = true, stat.Cversion
	return nil
}

func (l *live) removed(at string, p *parent) {
	for _, name := range slices.SortedFunc(maps.Keys(p.names), byNumber) {
		l.tracker.Delete(path.Join(at, name), observe.UnknownCause, 0, time.Now())
	}
	l.tracker.Delete(at, observe.UnknownCause, 0, time.Now())
	delete(l.parents, at)
}

func byNumber(a, b string) int {
	_, x, _ := observe.Sequential(a)
	_, y, _ := observe.Sequential(b)
	return int(x - y)
}

// readNode reads a new node. It returns false if the node has been removed already.
func (l *live) readNode(ctx context.Context, at, name string, created bool) (known bool, err error) {
	if _, _, sequential := observe.Sequential(name); !sequential {
		return true, nil
	}
	if err := l.request(ctx); err != nil {
		return false, err
	}
	stat, err := l.session.Exists(ctx, l.config.Chroot+path.Join(at, name))
	if stat == nil || err != nil {
		return false, err
	}
	if stat.EphemeralOwner == 0 {
		return true, nil
	}
	if on := time.UnixMilli(stat.Ctime); created {
		l.tracker.Create(path.Join(at, name), stat.EphemeralOwner, on)
	} else {
		l.tracker.Existing(path.Join(at, name), stat.EphemeralOwner, on, time.Now())
	}
	return true, nil
}
