package ensembles

import (
	"context"
	"crypto/tls"
	"net"
)

// Security is what the members ask of whoever connects to them. The zero value is nothing.
type Security struct {
	TLS *tls.Config // how members are dialled; nil: without TLS. Without a ServerName in it, a member's certificate must name its host
	// Digest is user:password of ZooKeeper's scheme digest, with which every connection
	// authenticates; "": with nothing.
	Digest string
	// Owned has only those who authenticated as we do, by Digest or by the certificate
	// in TLS, touch the nodes that we create; else everybody may.
	Owned bool
}

// Secures are the words of Options.Secure.
var Secures = []string{"tls", "digest"}

// Dial connects to a server, host:port, as its members ask for it. The context bounds the
// TLS handshake, too.
func (s Security) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return (&tls.Dialer{Config: s.TLS}).DialContext(ctx, network, addr)
}

// Secure sets what the ensemble asks of clients, and how its members are dialled.
func (e *Ensemble) Secure(s Security) {
	e.Security = s
	for _, m := range e.Members {
		if s.TLS != nil {
			m.Dial = s.Dial
		}
	}
}

// Connect connects to the member as it asks for it.
func (m *Member) Connect(ctx context.Context) (net.Conn, error) {
	if m.Dial != nil {
		return m.Dial(ctx, "tcp", m.Addr)
	}
	return Security{}.Dial(ctx, "tcp", m.Addr)
}
