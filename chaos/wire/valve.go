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

// sift sends p through. Where aimed is true, judge decides the fate of each
// frame that begins here, once its head is whole, and until then its bytes wait;
// else all frames pass. judge is called for all that the scanner comes to, with
// free where the fate is its to decide. emit gets the bytes that pass, which are
// valid only for the call; ended is called behind the last byte of a frame.
func (v *valve) sift(p []byte, aimed bool, judge func(m mark, free bool) fate, emit func([]byte), ended func()) {
	if !aimed && len(v.kept) > 0 {
		emit(v.kept)
		v.kept, v.fate = v.kept[:0], pass
	}
	for len(p) > 0 {
		if v.fate == undecided && len(v.kept) == 0 && (!aimed || v.scan.mid()) {
			v.fate = pass // mid: it began while bytes were passed through
		}
		n, m := v.scan.next(p)
		chunk := p[:n]
		p = p[n:]
		free := v.fate == undecided
		if f := judge(m, free); free && m != 0 {
			v.fate = f
		}
		if v.scan.lost {
			v.fate = pass
		}
		if free {
			v.kept = append(v.kept, chunk...)
			chunk = v.kept
		}
		if v.fate == undecided {
			continue
		}
		if v.fate == pass {
			emit(chunk)
		}
		v.kept = v.kept[:0]
		if m&atEnd != 0 {
			v.fate = undecided
			ended()
		}
	}
}
