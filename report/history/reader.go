package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/klauspost/compress/zstd"
)

// ErrTruncated means that a history has no end line: its writer died, or its disk was full. The
// records before the error are valid.
var ErrTruncated = errors.New("the history is truncated")

const (
	// lineLimit limits the size of a line, so that a damaged file cannot fill the memory.
	lineLimit = 1 << 20
	// windowLimit limits the memory of the decompressor. Frames of a Writer need far less.
	windowLimit = 64 << 20
	// longest is the maximum length of a trial: plots and counts over time need memory for it.
	longest = 7 * 24 * time.Hour
	// MaxPaths is the maximum number of paths of a trial: each has checks of its own.
	MaxPaths = 5000
)

type Reader struct {
	Header Header

	zr    *zstd.Decoder
	lines *bufio.Scanner
	n     int
	phase time.Duration // time of the last PhaseStart or PhaseEnd
	open  string

	skipSamples bool
	known       []Numbered // decoded records, which next returns instead of decoding their lines
}

// NewReader returns a Reader of in, with the Header already read. The caller must close the Reader.
func NewReader(in io.Reader) (*Reader, error) {
	compressed := &countingReader{Reader: in}
	zr, err := zstd.NewReader(compressed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowLimit))
	if err != nil {
		return nil, fmt.Errorf("history decompressor: %w", err)
	}
	r := &Reader{zr: zr, lines: bufio.NewScanner(&boundedReader{text: zr, compressed: compressed})}
	r.lines.Buffer(make([]byte, 0, 256<<10), lineLimit)
	r.lines.Split(splitLine)
	first, err := r.line()
	if err == nil {
		r.Header, err = parseHeader(first)
	} else {
		err = fmt.Errorf("history header: %w", err)
	}
	if err != nil {
		zr.Close()
		return nil, err
	}
	return r, nil
}

// Close releases the decompressor. It does not close the underlying reader.
func (r *Reader) Close() { r.zr.Close() }

// Records yields the remaining records. It stops after the first error, which wraps ErrTruncated if
// the history has no end line.
func (r *Reader) Records() iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		for {
			rec, ended, err := r.next()
			switch {
			case err != nil:
				yield(Numbered{N: r.n}, err)
				return
			case ended || rec != nil && !yield(Numbered{N: r.n, Record: rec}, nil):
				return
			}
		}
	}
}

var samplePrefix = []byte(`{"sample":`)

func (r *Reader) next() (rec Record, ended bool, err error) {
	raw, err := r.line()
	if err != nil {
		return nil, false, err
	}
	if len(r.known) > 0 && r.known[0].N == r.n+1 {
		rec, r.known = r.known[0].Record, r.known[1:]
		r.n++
		return rec, false, nil
	}
	if r.skipSamples && bytes.HasPrefix(raw, samplePrefix) {
		r.n++
		return nil, false, nil
	}
	rec, end, err := decode(raw)
	if err == nil && end == nil {
		err = r.checkTime(rec)
	}
	if err != nil {
		return nil, false, fmt.Errorf("history record %d: %w", r.n+1, err)
	}
	if end == nil {
		r.n++
		return rec, false, nil
	}
	if end.Records != r.n {
		return nil, false, fmt.Errorf("the end line counts %d records, but %d were read: some are missing", end.Records, r.n)
	}
	if _, err := r.line(); !errors.Is(err, errEmpty) {
		return nil, false, fmt.Errorf("the history has more data after its end line, at record %d", r.n+1)
	}
	return nil, true, nil
}

// checkTime returns an error for a time that no trial can have, and for phases that overlap.
func (r *Reader) checkTime(rec Record) error {
	at := rec.Time()
	if at < 0 || at > longest {
		return fmt.Errorf("time %v is outside the trial, which lasts from 0 to at most %v", at, longest)
	}
	switch rec := rec.(type) {
	case *PhaseStart:
		if r.open != "" {
			return fmt.Errorf("phase %q begins before the end of phase %q", rec.Name, r.open)
		}
		r.open = rec.Name
	case *PhaseEnd:
		if rec.Stopped > at {
			return fmt.Errorf("the clients were stopped at %v, after the phase's end at %v", rec.Stopped, at)
		}
		r.open = ""
	default:
		return nil
	}
	if at < r.phase {
		return fmt.Errorf("a phase begins or ends at %v, but the previous phase record is at %v: phases must be in order", at, r.phase)
	}
	r.phase = at
	return nil
}

var errEmpty = fmt.Errorf("%w: the end line is missing", ErrTruncated)

// line returns the next line without its newline. The slice is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	if r.lines.Scan() {
		return r.lines.Bytes(), nil
	}
	switch err := r.lines.Err(); {
	case err == nil:
		return nil, fmt.Errorf("%w (after record %d)", errEmpty, r.n)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: its last line is incomplete (after record %d)", ErrTruncated, r.n)
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("history record %d: the line is longer than %d bytes", r.n+1, lineLimit)
	default:
		return nil, fmt.Errorf("history after record %d: %w", r.n, err)
	}
}

// splitLine is a [bufio.SplitFunc] for lines that end with a newline.
func splitLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}
