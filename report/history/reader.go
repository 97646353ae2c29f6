package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"strconv"
	"strings"
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

// Schema is the version of the history format that this code writes.
const Schema = "zkbench.history/v3"

// Header is the first line of a history. It contains all data needed to evaluate the records.
type Header struct {
	Schema string `json:"schema"` // set by [NewWriter]
	Trial  string `json:"trial"`
	Cell
	Repetition      int      `json:"repetition,omitempty"` // number of the trial in its cell, from 1; 0 if it is the only one
	EarlierAttempts int      `json:"again,omitempty"`      // number of earlier attempts whose fault missed its step
	Look            int      `json:"look,omitempty"`       // number of the comparison's evaluation after this trial; 0 if there is only one
	Seed            uint64   `json:"seed"`
	Recipe          string   `json:"recipe"`            // of the subject: lock, election, queue, rwlock or semaphore
	Permits         int      `json:"permits,omitempty"` // of a semaphore
	Paths           int      `json:"paths,omitempty"`   // number of contested nodes, if there are several; see [Header.PathOf]
	Variant         string   `json:"variant,omitempty"` // parent, predecessor or polling; "" if unknown
	Promises        Promises `json:"promises"`          // a promise that is absent is not made
	// Guarantees are the guarantees that the scenario checks. If empty, every guarantee that applies
	// to the operations in the history is checked.
	Guarantees []string `json:"guarantees,omitempty"`
	// Expect are the guarantees that the subject is known to break. The trial passes if each of these
	// fails.
	Expect     []string          `json:"expect,omitempty"`
	Formulas   map[string]string `json:"formulas,omitempty"`
	Thresholds []string          `json:"thresholds,omitempty"`
}

// Promises are a subject's promises. A guarantee that it does not promise is not checked.
type Promises struct {
	Exclusive bool   `json:"exclusive,omitempty"` // one holder or leader at a time; for a semaphore, as many as it has permits; readers may share
	FIFO      bool   `json:"fifo,omitempty"`      // grants in the order of the waiters' nodes; items in the order of their puts
	Delivery  string `json:"delivery,omitempty"`  // of a queue: exactly-once, at-least-once or at-most-once
	Writers   bool   `json:"writers,omitempty"`   // readers do not starve a writer
	Requeues  bool   `json:"requeues,omitempty"`  // a client that has released rejoins the line by itself
	Deadline  bool   `json:"deadline,omitempty"`  // a holder stops by itself when its session may have expired
	Events    bool   `json:"events,omitempty"`    // a holder is notified that its grant is suspended, restored or lost
}

// Cell is a combination of subject, number of clients and parameters. A run may execute it several
// times, in separate trials.
type Cell struct {
	Scenario string            `json:"scenario"`
	Subject  string            `json:"subject"`
	Clients  int               `json:"clients"`
	Params   map[string]string `json:"params,omitempty"`      // the settings, as in result.json; durations in Go's format
	Base     string            `json:"base,omitempty"`        // the subject with which the others are compared
	Script   string            `json:"provocation,omitempty"` // the script of a zoo or an audit
	Step     string            `json:"step,omitempty"`        // of an audit: the step, such as "next exists #1", or "all"
	Fault    string            `json:"fault,omitempty"`       // of an audit: the fault, such as "reply.drop"
	Phases   string            `json:"phases,omitempty"`      // a hash of its phases
}

// EqualExceptSubject reports whether two cells differ only in their subject.
func (c Cell) EqualExceptSubject(d Cell) bool {
	return c.Scenario == d.Scenario && c.Clients == d.Clients && c.Script == d.Script && maps.Equal(c.Params, d.Params)
}

// The errors of a file that another version of zkbench wrote.
var (
	ErrNewer = errors.New("written by a newer zkbench: upgrade this one, or use that version")
	ErrOlder = errors.New("written by an older zkbench, whose files this one cannot read: use that version, or repeat the run")
)

func parseHeader(line []byte) (Header, error) {
	var probe struct{ Schema string }
	if err := json.Unmarshal(line, &probe); err != nil {
		return Header{}, fmt.Errorf("the first line is not a history header: %w", err)
	}
	if err := CheckSchema(probe.Schema, Schema); err != nil {
		return Header{}, fmt.Errorf("first line: %w", err)
	}
	var h Header
	if err := strict(line, &h); err != nil {
		return Header{}, fmt.Errorf("history header: %w", err)
	}
	if h.Paths < 0 || h.Paths > MaxPaths {
		return Header{}, fmt.Errorf("history header: %d paths, want 0 to %d", h.Paths, MaxPaths)
	}
	return h, nil
}

// CheckSchema returns an error if a file has another schema than want, such as "zkbench.history/v3". It
// must be called before the fields are decoded, so that the error for a newer file is about its version,
// and not about an unknown field.
func CheckSchema(schema, want string) error {
	kind, wantVersion, _ := strings.Cut(want, "/v")
	known, _ := strconv.Atoi(wantVersion)
	digits, ok := strings.CutPrefix(schema, kind+"/v")
	version, err := strconv.Atoi(digits)
	switch {
	case !ok || err != nil || version < 1:
		return fmt.Errorf("schema %q is not a %s (want %q)", schema, strings.Replace(kind, ".", " ", 1), want)
	case version > known:
		return fmt.Errorf("schema %q, but this zkbench reads %q: %w", schema, want, ErrNewer)
	case version < known:
		return fmt.Errorf("schema %q, but this zkbench reads %q: %w", schema, want, ErrOlder)
	}
	return nil
}
