package wire

import (
	"context"
	"encoding/binary"
	"net"
)

type Way struct {
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Digest is user:password of the scheme digest, with which [Session.CloseAt] authenticates; ""
	// for none. Clients authenticate themselves.
	Digest string
}

// Through sets the way to the servers. Set it before the first Dial.
func (t *Tap) Through(w Way) { t.way = w }

func (w Way) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.Dial == nil {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return w.Dial(ctx, network, addr)
}

// authXid is the xid of an authentication request in ZooKeeper's own clients.
const authXid = -4

// authRequest returns the frame with which a session authenticates; none without a Digest.
func (w Way) authRequest() []byte {
	if w.Digest == "" {
		return nil
	}
	b := make([]byte, 4, 64)
	for _, n := range []int32{authXid, int32(Auth), 0} { // the last is the type of the packet, always 0
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, s := range []string{"digest", w.Digest} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
