package scenarios

import (
	"context"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
)

// wayTo is how a tap reaches the members.
func wayTo(e *ensembles.Ensemble) wire.Way {
	w := wire.Way{Digest: e.Security.Digest}
	if e.Security.TLS != nil {
		w.Dial = e.Security.Dial
	}
	return w
}

// authFor is with what clients of the ensemble authenticate; nil: with nothing, or by the
// certificate in their TLS.
func authFor(e *ensembles.Ensemble) []recipes.Auth {
	if e.Security.Digest == "" {
		return nil
	}
	return []recipes.Auth{{Scheme: "digest", Auth: e.Security.Digest}}
}

// aclFor is of every node that is created on the ensemble; nil: open to all.
func aclFor(e *ensembles.Ensemble) []zk.ACL {
	if !e.Security.Owned {
		return nil
	}
	return zk.AuthACL(zk.PermAll) // the creator, whoever that is
}

// tryFor is how long the observer tries to open a session with one member before it asks
// the next.
func (o *observer) tryFor() time.Duration {
	if o.ensemble.Security.TLS != nil {
		return 4 * tryFor // a handshake costs more than a session
	}
	return tryFor
}

// harnessOptions are those of a session of the harness's own, which no tap sees.
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
