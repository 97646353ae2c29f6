package wire_test

import "encoding/binary"

// Frames as clients and servers build them.

func be32(n int) []byte   { return binary.BigEndian.AppendUint32(nil, uint32(int32(n))) }
func be64(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func text(s string) []byte { return append(be32(len(s)), s...) }

func frame(parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	return append(be32(len(body)), body...)
}

func connectFrame(session int64, password []byte) []byte {
	return frame(be32(0), be64(0), be32(10_000), be64(session), text(string(password)))
}
