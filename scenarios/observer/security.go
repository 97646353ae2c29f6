package observer

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
)

// UpstreamOf returns how a tap reaches the members.
func UpstreamOf(e *ensembles.Ensemble) wire.Upstream {
	return wire.Upstream{Dial: e.Security.Dial, Digest: e.Security.Digest}
}

// AuthFor returns the credentials of clients; nil if they have at most a TLS certificate.
func AuthFor(e *ensembles.Ensemble) []recipes.Auth {
	if e.Security.Digest == "" {
		return nil
	}
	return []recipes.Auth{{Scheme: "digest", Auth: e.Security.Digest}}
}

// ACLFor returns the ACL of nodes that are created on the ensemble; nil for open access.
func ACLFor(e *ensembles.Ensemble) []zk.ACL {
	if !e.Security.CreatorOnly {
		return nil
	}
	return zk.AuthACL(zk.PermAll) // the creator has all permissions
}

// openTimeout is the time for which the observer tries to open a session with a member before it tries the next.
func (o *Observer) openTimeout() time.Duration {
	if o.Ensemble.Security.TLS != nil {
		return 4 * MemberTimeout // a TLS handshake takes longer
	}
	return MemberTimeout
}

// HarnessOptions returns the options of sessions of the harness, which bypass the tap.
func HarnessOptions(e *ensembles.Ensemble, timeout time.Duration) recipes.Options {
	return recipes.Options{
		Timeout: timeout, Auth: AuthFor(e), ACL: ACLFor(e),
		Dial: func(network, addr string, limit time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			return e.Security.Dial(ctx, network, addr)
		},
	}
}

// OwnProcesses returns a function that admits connections of this process and its descendants, such
// as drivers, to the listeners of clients. Another process could change a verdict there, or reach
// an ensemble without a certificate of its own. If the owner of a connection is unknown, it is
// admitted; a session that belongs to no client then shows in the commits.
func OwnProcesses(logf func(format string, args ...any)) func(net.Conn) bool {
	var once sync.Once
	return func(c net.Conn) bool {
		ours, known := state.FromHere(c)
		if known && !ours {
			once.Do(func() {
				logf("refused a connection from %v to a client's listener at %v: it was not made by a process of this run", c.RemoteAddr(), c.LocalAddr())
			})
		}
		return ours || !known
	}
}
