package wire

import "slices"

// fate is what becomes of a frame.
type fate uint8

const (
	undecided fate = iota
	pass
	drop
	keep // it and what comes behind it must wait
)

// filter passes or drops whole frames of one direction, so that the rest of the
// stream stays aligned. The bytes of a frame wait until its head is whole.
type filter struct {
	scan   scanner
	opened bool   // the connection's first frame, the handshake, was seen
	kept   []byte // bytes of the current frame, until its fate is decided
	fate   fate   // of the current frame
}

// busy reports whether the next bytes have to go through run.
func (f *filter) busy() bool { return len(f.kept) > 0 || f.fate == drop && f.scan.mid() }

// run takes in the next bytes. With ruled, decide decides the fate of each frame that
// begins here, once its head is whole; else all frames pass. decide is called for each
// mark of the scanner; it has a say only where free is true. emit gets the bytes that
// pass, which are valid only for the call; ended is called behind the last byte of a
// frame. run returns the bytes from a frame on that decide keeps: they are to come again.
func (f *filter) run(p []byte, ruled bool, decide func(m mark, free bool) fate, emit func([]byte), ended func()) (kept []byte) {
	if !ruled && len(f.kept) > 0 {
		emit(f.kept)
		f.kept, f.fate = f.kept[:0], pass
	}
	for len(p) > 0 {
		if f.fate == undecided && len(f.kept) == 0 && (!ruled || f.scan.mid()) {
			f.fate = pass // mid: it began while bytes were passed through
		}
		n, m := f.scan.next(p)
		chunk := p[:n]
		p = p[n:]
		free := f.fate == undecided
		if fate := decide(m, free); free && m != 0 {
			f.fate = fate
		}
		if f.scan.lost {
			f.fate = pass
		}
		if free {
			f.kept = append(f.kept, chunk...)
			chunk = f.kept
		}
		if f.fate == undecided {
			continue
		}
		if f.fate == keep {
			kept = slices.Concat(f.kept, p)
			f.kept, f.fate, f.scan.got = f.kept[:0], undecided, 0
			return kept
		}
		if f.fate == pass {
			emit(chunk)
		}
		f.kept = f.kept[:0]
		if m&atEnd != 0 {
			f.fate = undecided
			ended()
		}
	}
	return nil
}
