package wire

import "encoding/binary"

const (
	// frameLimit is the longest valid frame. ZooKeeper's own limit is 1 MiB by default for frames that it
	// reads, and unlimited for frames that it sends. ASCII, such as a four-letter word, reads as a length
	// above 1 GiB.
	frameLimit = 64 << 20
	// pathLimit is the maximum length of a stored path.
	pathLimit = 1 << 10
	// headLimit fits the longest head: a multi with a long path.
	headLimit = multiPath + 4 + pathLimit
)

// mark is a position found by a scanner.
type mark uint8

const (
	atHead mark = 1 << iota
	atEnd
	gaveUp
)

type extent struct {
	least int // a shorter body is not such a frame
	head  int // length of the head
}

// For a connection's first frame and for all others.
var (
	requestExtents = [2]extent{{28, 44}, {8, headLimit}} // ConnectRequest; header and path
	replyExtents   = [2]extent{{20, 36}, {16, 284}}      // ConnectResponse; header, and a notification with its path
)

// scanner finds the frames in the bytes of one direction of a connection, which come in pieces of
// any size. It keeps only the head of the current frame.
type scanner struct {
	extents *[2]extent
	size    [4]byte
	got     int // bytes of the length received; 0 between frames
	body    int // length of the frame's body
	seen    int // bytes of the body received
	have    int // bytes of the body in buf
	later   int // 0 in a connection's first frame, then 1
	lost    bool
	whole   []byte // the head, after atHead
	buf     []byte // for a head that comes in pieces
}

func (s *scanner) head() []byte { return s.whole }

func (s *scanner) mid() bool { return s.got > 0 }

// next scans p until a frame's head or the frame is complete, or p ends. It returns the number of
// bytes and the mark.
func (s *scanner) next(p []byte) (int, mark) {
	if s.lost {
		return len(p), 0
	}
	n := 0
	if s.got < len(s.size) {
		if n = s.length(p); s.lost {
			return n, gaveUp
		}
		if s.got < len(s.size) {
			return n, 0
		}
	}
	var m mark
	if need := min(s.body, s.extents[s.later].head); s.have < need {
		if s.have == 0 && len(p)-n >= need { // usually: no copy
			s.whole = p[n : n+need : n+need]
			s.have, s.seen, n = need, need, n+need
		} else {
			if s.buf == nil {
				s.buf = make([]byte, s.extents[1].head+s.extents[0].head)
			}
			c := copy(s.buf[s.have:need], p[n:])
			s.have, s.seen, n = s.have+c, s.seen+c, n+c
			if s.have < need {
				return n, 0
			}
			s.whole = s.buf[:need]
		}
		m = atHead
	} else {
		c := min(len(p)-n, s.body-s.seen)
		s.seen, n = s.seen+c, n+c
	}
	if s.seen == s.body {
		s.got, s.later = 0, 1
		m |= atEnd
	}
	return n, m
}

// length reads a frame's length, or the available part, from p.
func (s *scanner) length(p []byte) int {
	if s.got == 0 {
		s.seen, s.have = 0, 0
	}
	n := copy(s.size[s.got:], p)
	s.got += n
	if s.got == len(s.size) {
		s.body = int(int32(binary.BigEndian.Uint32(s.size[:])))
		s.lost = s.body < s.extents[s.later].least || s.body > frameLimit
	}
	return n
}
