package txnlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// digestSize is the length of a TxnDigest (version, digest of the tree), which servers from 3.6 on
// write after the body.
const digestSize = 4 + 8

// The types as ZooKeeper numbers them (ZooDefs.OpCode).
var types = map[int32]Type{
	1: Create, 15: Create, 19: Create, 21: Create,
	2: Delete, 20: Delete,
	5: SetData, 7: SetACL, 13: Check, 14: Multi, 16: Reconfig,
	-10: OpenSession, -11: CloseSession, -1: Error,
}

// The types of creates whose body differs.
const (
	createContainer = 19
	createTTL       = 21
)

// fields reads the fields of a record one after the other. After the first missing field, short is set
// and all further fields are zero.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if f.short || n < 0 || n > len(f.rest) {
		f.short = true
		return nil
	}
	taken := f.rest[:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *fields) int32() int32 {
	if b := f.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (f *fields) int64() int64 {
	if b := f.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (f *fields) bool() bool {
	b := f.take(1)
	return b != nil && b[0] != 0
}

// bytes reads a buffer or a string. It returns nil for null, whose length is -1.
func (f *fields) bytes() []byte {
	n := f.int32()
	if n == -1 {
		return nil
	}
	return f.take(int(n))
}

func (f *fields) string() string { return string(f.bytes()) }

// each reads the length of a vector and calls do for each element, but stops at the end of the record.
func (f *fields) each(do func()) {
	for n := f.int32(); n > 0 && !f.short; n-- {
		do()
	}
}

// acl skips a vector of access rights (perms, scheme, id).
func (f *fields) acl() {
	f.each(func() { f.int32(); f.bytes(); f.bytes() })
}

// header reads a TxnHeader. code is ZooKeeper's number of the transaction's type.
func (f *fields) header() (e Entry, code int32) {
	e.Session, e.Cxid, e.Zxid = f.int64(), f.int32(), f.int64()
	e.Time = time.UnixMilli(f.int64())
	return e, f.int32()
}

// body reads the fields after the header. known is false if it cannot decode the body completely.
func (e *Entry) body(code int32, f *fields) (known bool) {
	known = true
	switch e.Type = types[code]; e.Type {
	case Multi:
		known = e.multi(f)
	case OpenSession:
		e.Timeout = time.Duration(f.int32()) * time.Millisecond
	case CloseSession:
		return e.decodeCloseSession(f)
	default:
		e.Op = operation(code, f)
	}
	if e.Type == Unknown {
		return false
	}
	if f.short {
		e.Op, e.Parts, e.Timeout = Op{}, nil, 0
		return false
	}
	return known && onlyDigest(f.rest)
}

func onlyDigest(rest []byte) bool { return len(rest) == 0 || len(rest) == digestSize }

func operation(code int32, f *fields) Op {
	o := Op{Type: types[code]}
	switch o.Type {
	case Create:
		o.Path = f.string()
		o.data(f)
		f.acl()
		switch code {
		case createContainer:
			f.int32()
		case createTTL:
			f.int32()
			f.int64()
		default:
			o.Ephemeral = f.bool()
			if len(f.rest) > 0 { // absent from servers before 3.4
				f.int32()
			}
		}
	case Delete:
		o.Path = f.string()
	case SetData, Reconfig:
		o.Path = f.string()
		o.data(f)
		o.Version = f.int32()
	case SetACL:
		o.Path = f.string()
		f.acl()
		o.Version = f.int32()
	case Check:
		o.Path, o.Version = f.string(), f.int32()
	case Error:
		o.Err = f.int32()
	default:
		return Op{}
	}
	return o
}

func (o *Op) data(f *fields) {
	data := f.bytes()
	if o.Size = len(data); o.Size <= MaxData {
		o.Data = slices.Clone(data)
	}
}

const errorSize = 4

// multi reads the parts, each of which has a type, a length and a body.
func (e *Entry) multi(f *fields) (known bool) {
	known = true
	f.each(func() {
		code := f.int32()
		part := fields{rest: f.bytes()}
		if types[code] == Error && len(part.rest) > errorSize { // undone before this member logged it
			e.Parts = append(e.Parts, Op{Type: Error})
			return
		}
		o := operation(code, &part)
		if o.Type == Unknown || part.short || len(part.rest) > 0 {
			known = false
		}
		if part.short {
			o = Op{}
		}
		e.Parts = append(e.Parts, o)
	})
	// A failed part rolls the others back (DataTree.processTxn). A member logs the parts before it as
	// if they had succeeded, or as errors with these bodies, so that multi drops the bodies.
	if slices.ContainsFunc(e.Parts, func(o Op) bool { return o.Type == Error }) {
		for i, o := range e.Parts {
			e.Parts[i] = Op{Type: Error, Err: o.Err}
			if e.Err == 0 {
				e.Err = o.Err
			}
		}
	}
	return known
}

// decodeCloseSession reads the removed paths. Servers before 3.6, and later servers if configured so, write
// none; a digest may follow.
func (e *Entry) decodeCloseSession(f *fields) (known bool) {
	body := f.rest
	f.each(func() {
		path := f.string()
		if !strings.HasPrefix(path, "/") {
			f.short = true
			return
		}
		e.Removed = append(e.Removed, path)
	})
	if f.short || !onlyDigest(f.rest) {
		e.Removed = nil
		return onlyDigest(body)
	}
	e.Listed = true
	return true
}

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
