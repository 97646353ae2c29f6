package wire

import "slices"

// fate is the decision about a frame.
type fate uint8

const (
	undecided fate = iota
	pass
	drop
	keep // the frame and all after it wait
)

// filter passes or drops whole frames of one direction, so that the stream stays aligned. The bytes
// of a frame wait until its head is complete.
type filter struct {
	scan   scanner
	opened bool // the handshake was seen
	kept   []byte
	fate   fate // of the current frame
}

// busy reports whether the next bytes must go through run.
func (f *filter) busy() bool { return len(f.kept) > 0 || f.fate == drop && f.scan.mid() }

// run processes the next bytes. With ruled, decide returns the fate of each frame that begins here,
// once its head is complete; otherwise all frames pass. decide is called for each mark of the
// scanner; its result counts only if free is true. emit receives the bytes that pass, valid only
// for the call; ended is called after the last byte of a frame. run returns the bytes from a kept
// frame on: they must be passed in again.
func (f *filter) run(p []byte, ruled bool, decide func(m mark, free bool) fate, emit func([]byte), ended func()) (kept []byte) {
	if !ruled && len(f.kept) > 0 {
		emit(f.kept)
		f.kept, f.fate = f.kept[:0], pass
	}
	for len(p) > 0 {
		if f.fate == undecided && len(f.kept) == 0 && (!ruled || f.scan.mid()) {
			f.fate = pass // it began while bytes passed unchanged
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
