package wire

import (
	"context"
	"encoding/binary"
	"net"
)

// Way is how a tap reaches the servers. The zero value dials plainly and shows nothing.
type Way struct {
	// Dial connects to a server, with TLS perhaps: the tap ends that, and reads what is
	// inside. Nil dials plainly.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Digest is user:password of the scheme digest, with which [Session.CloseAt]
	// authenticates; "" with nothing. Clients authenticate by themselves.
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

// authXid is what ZooKeeper's own clients number a request for authentication with.
const authXid = -4

// authRequest is the frame by which a session authenticates; none where there is no Digest.
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
