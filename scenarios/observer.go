package scenarios

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensembles"
)

// What the lab sees of the contested parent with its own sessions. They do not go
// through the tap and leave no watch, so nothing that is counted is disturbed: not
// on the wire, and not by the members.

// sighting is one child of the contested parent.
type sighting struct {
	path         string
	czxid, owner int64
}

// survey returns the children of the contested parent, oldest first, as of now: a
// write goes before the read, so that no member answers from the past.
func (h *harness) survey(ctx context.Context, parent string) (found []sighting, err error) {
	for range 2 * len(h.servers) {
		i := int(h.serving.Load())
		if found, err = h.look(ctx, parent); err == nil || ctx.Err() != nil {
			break
		}
		h.failover(i)
	}
	return found, err
}

func (h *harness) look(ctx context.Context, parent string) ([]sighting, error) {
	s, err := h.any(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*tryFor)
	defer cancel()
	if err := s.Delete(ctx, h.root+"/nothing"); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	names, err := s.List(ctx, parent)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []sighting
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, name := range names {
		g.Go(func() error {
			stat, err := s.Exists(ctx, parent+"/"+name)
			if err != nil || stat == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, sighting{parent + "/" + name, stat.Czxid, stat.EphemeralOwner})
			return nil
		})
	}
	err = g.Wait()
	slices.SortFunc(found, func(a, b sighting) int { return cmp.Compare(a.czxid, b.czxid) })
	return found, err
}

// watches returns by session what it watches, by the members' own word (wchp). ok is
// false where a member does not tell.
func (t *trial) watches(ctx context.Context) (bySession map[int64][]string, ok bool) {
	bySession = map[int64][]string{}
	for _, m := range t.lab.Ensemble.Members {
		reply, err := ensembles.FourLetter(ctx, m.Addr, "wchp")
		if err != nil {
			return nil, false
		}
		parseWatches(reply, bySession)
	}
	return bySession, true
}
