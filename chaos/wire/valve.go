package wire

// fate is what becomes of a frame.
type fate uint8

const (
	undecided fate = iota
	pass
	drop
)

// valve lets whole frames pass or drop, so that whatever a rule takes out of
// the stream, the rest of it stays aligned. Until the head of a frame is whole,
// its bytes wait.
type valve struct {
	scan   scanner
	opened bool   // the connection's first frame, the handshake, was seen
	kept   []byte // bytes of the current frame, until its fate is decided
	fate   fate   // of the current frame
}

// busy is true while the bytes that come next cannot just be passed through.
func (v *valve) busy() bool { return len(v.kept) > 0 || v.fate == drop && v.scan.mid() }

// flush passes the bytes that wait, and with them their frame.
func (v *valve) flush(emit func([]byte)) {
	if len(v.kept) > 0 {
		emit(v.kept)
		v.kept = v.kept[:0]
		v.fate = pass
	}
}

// sift sends p through. judge is called for all that the scanner comes to: it
// decides a frame's fate where free is true, and otherwise only learns of it.
// emit gets the bytes that pass, which are valid only for the call; ended is
// called behind the last byte of a frame.
func (v *valve) sift(p []byte, judge func(m mark, free bool) fate, emit func([]byte), ended func()) {
	for len(p) > 0 {
		if v.fate == undecided && v.scan.mid() && len(v.kept) == 0 {
			v.fate = pass // it began while bytes were passed through
		}
		n, m := v.scan.next(p)
		chunk := p[:n]
		p = p[n:]
		free := v.fate == undecided
		if free {
			v.kept = append(v.kept, chunk...)
		}
		f := judge(m, free)
		if free && m != 0 {
			v.fate = f
		}
		switch {
		case v.scan.lost:
			v.fate = pass
		case v.fate == undecided:
			continue
		}
		if v.fate == pass && free {
			emit(v.kept)
		} else if v.fate == pass {
			emit(chunk)
		}
		v.kept = v.kept[:0]
		if m&atEnd != 0 {
			v.fate = undecided
			ended()
		}
	}
}
