package ensembles

import (
	"context"
	"crypto/tls"
	"net"
)

// Security is the members' requirements for connections. The zero value requires nothing.
type Security struct {
	TLS *tls.Config
	// Digest is user:password of ZooKeeper's scheme digest, with which every connection
	// authenticates; "" for none.
	Digest string
	// Owned allows access to our nodes only to clients that authenticate as we do, by Digest or by
	// the certificate in TLS; otherwise all clients have access.
	Owned bool
}

// Secures are the values of Options.Secure.
var Secures = []string{"tls", "digest"}

// Dial connects to a server, host:port, as its members require. The context also bounds the TLS
// handshake.
func (s Security) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return (&tls.Dialer{Config: s.TLS}).DialContext(ctx, network, addr)
}

// Secure sets the ensemble's requirements for clients, and how its members are dialled.
func (e *Ensemble) Secure(s Security) {
	e.Security = s
	for _, m := range e.Members {
		if s.TLS != nil {
			m.Dial = s.Dial
		}
	}
}

// Connect connects to the member as it requires.
func (m *Member) Connect(ctx context.Context) (net.Conn, error) {
	if m.Dial != nil {
		return m.Dial(ctx, "tcp", m.Addr)
	}
	return Security{}.Dial(ctx, "tcp", m.Addr)
}
