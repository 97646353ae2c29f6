package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A frame is a length (int32) and a body of that many bytes. The first frame of a
// connection is a ConnectRequest or its reply. Every later body begins with a header:
// xid and opcode in a request; xid, zxid (int64) and error code in a reply.

// readLimit bounds the bodies that readFrame accepts: replies to ConnectRequest and closeSession
// are short.
const readLimit = 1 << 10

// readFrame reads one short frame and returns its body of at least that many bytes.
func readFrame(r io.Reader, least int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if int(n) < least || n > readLimit {
		return nil, fmt.Errorf("a frame of %d bytes, where %d to %d are expected", n, least, readLimit)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

// connectRequest returns the frame that makes a connection part of the session. Its last seen zxid
// is 0, so that a server that lags behind accepts it too.
func connectRequest(s Session) []byte {
	b := make([]byte, 4, 64)
	b = binary.BigEndian.AppendUint32(b, 0)                                // protocol version
	b = binary.BigEndian.AppendUint64(b, 0)                                // last zxid seen
	b = binary.BigEndian.AppendUint32(b, uint32(s.Timeout.Milliseconds())) // as negotiated, which changes nothing
	b = binary.BigEndian.AppendUint64(b, uint64(s.ID))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.Password)))
	b = append(b, s.Password...)
	b = append(b, 0)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

const closeXid = 1

// closeRequest returns the frame that closes its connection's session.
func closeRequest() []byte {
	op := CloseSession
	b := binary.BigEndian.AppendUint32(nil, 8)
	b = binary.BigEndian.AppendUint32(b, closeXid)
	return binary.BigEndian.AppendUint32(b, uint32(op))
}

func int32At(b []byte, at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func int64At(b []byte, at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// bytesAt returns the length-prefixed bytes at that offset, truncated at the end of b, which it
// aliases. A negative length is jute's null.
func bytesAt(b []byte, at int) []byte {
	if at+4 > len(b) {
		return nil
	}
	n := int(int32At(b, at))
	if n <= 0 {
		return nil
	}
	b = b[at+4:]
	return b[:min(n, len(b))]
}

// pathIn returns the path in a request's head; for a multi, the path of its first operation. It aliases
// head.
func pathIn(head []byte, op Op) []byte {
	at := opcodes[op.slot()].path
	if at == 0 {
		return nil
	}
	p := bytesAt(head, at)
	return p[:min(len(p), pathLimit)]
}
