package txnlog

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"io"
)

// logFile is a file as a server writes it: the header, then the entries.
func logFile(entries ...[]byte) []byte {
	return pack([]byte("ZKLG"), int32(2), int64(0), bytes.Join(entries, nil))
}

// entry frames a transaction.
func entry(txn []byte) []byte {
	return pack(int64(adler32.Checksum(txn)), int32(len(txn)), txn, byte('B'))
}

// txn is a transaction of session 7, request 9, at one second.
func txn(zxid int64, code int32, body ...any) []byte {
	return pack(append([]any{int64(7), int32(9), zxid, int64(1000), code}, body...)...)
}

// created is an entry in which session 7 creates an ephemeral node.
func created(zxid int64, path string) []byte {
	return entry(txn(zxid, 1, path, "data", noACL, true, int32(1)))
}

const noACL = int32(-1)

// pack writes values as ZooKeeper does: big-endian, strings behind their length.
func pack(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if s, ok := v.(string); ok {
			v = pack(int32(len(s)), []byte(s))
		}
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// readAll reads files as one member's log.
func readAll(after int64, files ...[]byte) (all []Entry, r *Reader, err error) {
	var readers []io.Reader
	for _, f := range files {
		readers = append(readers, bytes.NewReader(f))
	}
	r = NewReader(after, readers...)
	all, err = remaining(r)
	return all, r, err
}

// remaining returns the entries of the rest of a log, and the first error.
func remaining(r *Reader) (all []Entry, err error) {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func zxids(all []Entry) []int64 {
	var out []int64
	for _, e := range all {
		out = append(out, e.Zxid)
	}
	return out
}
