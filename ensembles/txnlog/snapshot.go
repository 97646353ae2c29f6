package txnlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Node is an ephemeral node in a snapshot.
type Node struct {
	Path    string
	Session int64 // its owner
	Zxid    int64 // of its creation
	Created time.Time
}

const (
	snapshotMagic = 0x5a4b534e // "ZKSN"
	longestString = 16 << 20   // bytes; ZooKeeper's own limit for a packet is 1 MiB
)

// Ephemerals calls each for every ephemeral node in an uncompressed snapshot (snapshot.ZXID). A server
// keeps working while it writes a snapshot, which can therefore contain changes after the zxid in its
// name. FileSnap.java and DataTree.java define the format.
func Ephemerals(snapshot io.Reader, each func(Node)) error {
	s := stream{r: bufio.NewReaderSize(snapshot, 1<<16)}
	if magic, version := s.int32(), s.int32(); s.err == nil && (magic != snapshotMagic || version != 2) {
		return errors.New("not a ZooKeeper snapshot")
	}
	s.skip(8)                                        // the ID of the database
	for n := s.int32(); n > 0 && s.err == nil; n-- { // sessions: ID, timeout
		s.skip(8 + 4)
	}
	for n := s.int32(); n > 0 && s.err == nil; n-- { // access control lists
		s.skip(8)
		for k := s.int32(); k > 0 && s.err == nil; k-- {
			s.skip(4) // permissions
			s.skip(int64(max(0, s.int32())))
			s.skip(int64(max(0, s.int32())))
		}
	}
	for s.err == nil {
		path := s.string()
		if path == "/" {
			break // the end of the tree; the root is ""
		}
		s.skip(int64(max(0, s.int32())) + 8) // data, ACL
		n := Node{Path: path, Zxid: s.int64()}
		s.skip(8)
		n.Created = time.UnixMilli(s.int64())
		s.skip(8 + 3*4) // time of the last change, versions
		n.Session = s.int64()
		s.skip(8)
		// Container and TTL nodes have marks in place of an owner (EphemeralType.java).
		if s.err == nil && n.Session != 0 && uint64(n.Session) != 1<<63 && uint64(n.Session)>>56 != 0xff {
			each(n)
		}
	}
	if s.err != nil {
		return fmt.Errorf("snapshot: %w", s.err)
	}
	return nil
}

type stream struct {
	r   *bufio.Reader
	b   [8]byte
	err error
}

func (s *stream) read(n int) []byte {
	if s.err == nil {
		_, s.err = io.ReadFull(s.r, s.b[:n])
	}
	if s.err != nil {
		clear(s.b[:])
		if s.err == io.EOF {
			s.err = io.ErrUnexpectedEOF
		}
	}
	return s.b[:n]
}

func (s *stream) int32() int32 { return int32(binary.BigEndian.Uint32(s.read(4))) }
func (s *stream) int64() int64 { return int64(binary.BigEndian.Uint64(s.read(8))) }

func (s *stream) skip(n int64) {
	if s.err == nil {
		_, s.err = io.CopyN(io.Discard, s.r, n)
	}
}

func (s *stream) string() string {
	n := s.int32()
	if s.err == nil && n > longestString {
		s.err = fmt.Errorf("a path of %d bytes is too long", n)
	}
	if s.err != nil || n <= 0 {
		return ""
	}
	b := make([]byte, n)
	_, s.err = io.ReadFull(s.r, b)
	return string(b)
}
