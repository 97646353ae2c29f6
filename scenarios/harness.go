package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
)

// harness is the lab's own eyes and hands in the tree: one session with each
// member, so that it can look at every member's state, and reach the tree while
// some members are cut off. None of it goes through the tap.
type harness struct {
	servers []string
	timeout time.Duration
	root    string
	fence   string       // path of the fenced resource
	serving atomic.Int64 // index of the member that served us last
	writes  atomic.Int64 // makes every write unlike any other

	mu       sync.Mutex
	sessions []*recipes.Session // one a member; nil or ended: to be opened on demand
}

// openHarness makes the trial's part of the tree.
func openHarness(ctx context.Context, t *trial) (*harness, error) {
	servers := t.lab.Ensemble.Servers()
	h := &harness{servers: servers, timeout: t.scenario.SessionTimeout, root: t.root, fence: t.root + "/resource",
		sessions: make([]*recipes.Session, len(servers))}
	var err error
	for range servers {
		if err = h.prepare(ctx, t.parent); err == nil {
			return h, nil
		}
	}
	h.close()
	return nil, fmt.Errorf("prepare %s: %w", t.root, err)
}

func (h *harness) prepare(ctx context.Context, parent string) error {
	s, err := h.any(ctx)
	if err != nil {
		return err
	}
	if err := s.MakePath(ctx, parent); err != nil {
		return err
	}
	_, err = s.Create(ctx, h.fence, []byte("0 -1 0"), 0)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// member returns the session with the i-th member, opened anew if the last has ended.
func (h *harness) member(ctx context.Context, i int) (*recipes.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[i]; s != nil && s.Err() == nil {
		return s, nil
	}
	s, err := recipes.Open(ctx, h.servers[i:i+1], recipes.Options{Timeout: h.timeout, MaxPacket: 1 << 20})
	if err != nil {
		return nil, err
	}
	h.sessions[i] = s
	return s, nil
}

// any returns a session with the member that served us last.
func (h *harness) any(ctx context.Context) (*recipes.Session, error) {
	i := int(h.serving.Load())
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	s, err := h.member(ctx, i)
	if err == nil {
		err = s.AwaitConnected(ctx)
	}
	if err != nil {
		h.failover(i)
		return nil, err
	}
	return s, nil
}

// failover makes the harness go on with the member after the i-th.
func (h *harness) failover(i int) { h.serving.CompareAndSwap(int64(i), int64((i+1)%len(h.servers))) }

// tryFor is how long the harness waits for one member before it asks the next.
const tryFor = 500 * time.Millisecond

// errFenced says that the resource has seen a higher token.
var errFenced = errors.New("refused by the fence: a higher token has written")

// write writes to the fenced resource under token: accepted unless a higher token
// has written before. version is the resource's version after the write. An error
// other than errFenced leaves the outcome open.
func (h *harness) write(ctx context.Context, token int64, client int) (version int64, err error) {
	w := attempt{token: token, data: fmt.Sprintf("%d %d %d", token, client, h.writes.Add(1))}
	for range 2 * len(h.servers) {
		version, err = h.try(ctx, &w)
		if err == nil || errors.Is(err, errFenced) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, errFenced) && w.unsure {
		err = errors.New("a reply was lost, and a higher token has written since")
	}
	return version, err
}

// attempt is a write to the resource under way.
type attempt struct {
	token  int64
	data   string // unlike any other write's
	unsure bool   // an earlier try may have succeeded
}

// try is one compare-and-set. An error other than errFenced asks for another:
// somebody else wrote in between, or the member did not answer; what the next one
// finds tells whether this one has succeeded.
func (h *harness) try(ctx context.Context, w *attempt) (version int64, err error) {
	i := int(h.serving.Load())
	s, err := h.any(ctx)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	data, stat, err := s.Get(ctx, h.fence)
	if err != nil {
		h.failover(i)
		return 0, err
	}
	if string(data) == w.data {
		return int64(stat.Version), nil
	}
	seen, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w, which holds %q", errFenced, data)
	}
	if seen > w.token {
		return 0, errFenced
	}
	stat, err = s.Set(ctx, h.fence, []byte(w.data), stat.Version)
	if err == nil {
		return int64(stat.Version), nil
	}
	if !errors.Is(err, zk.ErrBadVersion) {
		w.unsure = true
		h.failover(i)
	}
	return 0, err
}

// close removes the trial's part of the tree and closes the sessions.
func (h *harness) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range h.servers {
		s, err := h.any(ctx)
		if err == nil && s.RemoveTree(ctx, h.root) == nil {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s != nil {
			s.Close()
		}
	}
}
