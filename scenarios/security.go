package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
)

// wayTo returns how a tap reaches the members.
func wayTo(e *ensembles.Ensemble) wire.Way {
	w := wire.Way{Digest: e.Security.Digest}
	if e.Security.TLS != nil {
		w.Dial = e.Security.Dial
	}
	return w
}

// authFor returns the credentials of the ensemble's clients; nil if they have none in addition to
// their TLS certificate.
func authFor(e *ensembles.Ensemble) []recipes.Auth {
	if e.Security.Digest == "" {
		return nil
	}
	return []recipes.Auth{{Scheme: "digest", Auth: e.Security.Digest}}
}

// aclFor returns the ACL of nodes that are created on the ensemble; nil for open access.
func aclFor(e *ensembles.Ensemble) []zk.ACL {
	if !e.Security.Owned {
		return nil
	}
	return zk.AuthACL(zk.PermAll) // the creator has all permissions
}

// tryFor is the time for which the observer tries to open a session with one member before it tries
// the next.
func (o *observer) tryFor() time.Duration {
	if o.ensemble.Security.TLS != nil {
		return 4 * tryFor // a TLS handshake takes longer
	}
	return tryFor
}

// harnessOptions returns the options of the harness's own sessions, which bypass the tap.
func harnessOptions(e *ensembles.Ensemble, timeout time.Duration) recipes.Options {
	return recipes.Options{
		Timeout: timeout, Auth: authFor(e), ACL: aclFor(e),
		Dial: func(network, addr string, limit time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			return e.Security.Dial(ctx, network, addr)
		},
	}
}

// ownProcesses returns a function that admits connections of this process and its descendants, such
// as drivers, to the listeners of clients. Another process could change a verdict there, or reach
// an ensemble without a certificate of its own. If the owner of a connection is unknown, it is
// admitted; a session that belongs to no client then shows in the commits.
func ownProcesses(logf func(format string, args ...any)) func(net.Conn) bool {
	var once sync.Once
	return func(c net.Conn) bool {
		ours, known := state.FromHere(c)
		if known && !ours {
			once.Do(func() {
				logf("refused a connection from %v to a client's listener at %v: no process of this run made it", c.RemoteAddr(), c.LocalAddr())
			})
		}
		return ours || !known
	}
}

// fence is the resource to which every holder writes with its token. It rejects a token that is
// lower than the token of an earlier write, and a token that another grant has used.
type fence struct {
	observer *observer
	path     string
	writes   atomic.Int64 // makes every write distinct
}

func (f *fence) open(ctx context.Context) error {
	return f.observer.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		_, err := s.Create(ctx, f.path, []byte("0 0 0"), 0)
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// Errors of a rejected write.
var (
	errFenced = errors.New("refused by the fence")
	errHigher = fmt.Errorf("%w: a higher token has written", errFenced)
	errTwice  = fmt.Errorf("%w: another grant has written under this token", errFenced)
)

// write writes with the token of a grant, which also has a number. version is the resource's
// version after the write. After an error other than errFenced the outcome is unknown.
func (f *fence) write(ctx context.Context, token, grant int64) (version int64, err error) {
	if token == 0 {
		return 0, errors.New("the token of the grant is not known")
	}
	data := f.text(token, grant)
	unsure := false // an earlier attempt may have succeeded
	err = f.observer.any(ctx, tryFor, func(ctx context.Context, s *recipes.Session) error {
		version, err = f.try(ctx, s, token, grant, data, &unsure)
		return err
	})
	if errors.Is(err, errFenced) && unsure {
		err = errors.New("a reply was lost, and a higher token has written since")
	}
	return version, err
}

func (f *fence) text(token, grant int64) string {
	return fmt.Sprintf("%d %d %d", token, grant, f.writes.Add(1))
}

// try is a compare-and-set, repeated if another client wrote in between. The current content shows
// whether an earlier attempt succeeded.
func (f *fence) try(ctx context.Context, s *recipes.Session, token, grant int64, data string, unsure *bool) (version int64, err error) {
	for {
		was, stat, err := s.Get(ctx, f.path)
		if err != nil {
			return 0, err
		}
		if string(was) == data {
			return int64(stat.Version), nil
		}
		var seen, by, n int64
		if _, err := fmt.Sscan(string(was), &seen, &by, &n); err != nil {
			return 0, final{fmt.Errorf("%w, which holds %q", errFenced, was)}
		}
		switch {
		case seen > token:
			return 0, final{errHigher}
		case seen == token && by != grant:
			return 0, final{errTwice}
		}
		stat, err = s.Set(ctx, f.path, []byte(data), stat.Version)
		if err == nil {
			return int64(stat.Version), nil
		}
		if !errors.Is(err, zk.ErrBadVersion) {
			*unsure = true
			return 0, err
		}
	}
}
