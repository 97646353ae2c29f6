package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// frameEvery is the part of a trial a crash may lose: a zstd frame that was not closed is only
	// partly readable.
	frameEvery = time.Second
	// drainEvery is the interval at which the writer checks for records without being woken.
	drainEvery = 50 * time.Millisecond
	// batchSize is the number of records in a batch. A full batch wakes the writer.
	batchSize = 4096
	// keepFree is the number of empty batches kept.
	keepFree = 4
)

// Writer records a history. Its methods are safe for concurrent use and never wait for the disk:
// they append to a batch in memory, which one goroutine encodes and writes. No record is dropped
// while the disk accepts writes; the backlog is unbounded, see [Stats].
//
// When a write fails, the error is kept, Broken is closed, and later records count as lost: the
// trial must stop. Earlier records stay readable.
type Writer struct {
	mu    sync.Mutex
	fill  *batch
	full  []*batch
	free  []*batch
	stats Stats
	err   error

	out    io.Writer
	file   *os.File // to be closed by us; nil if the caller owns the io.Writer
	zw     *zstd.Encoder
	line   []byte
	opened bool

	wake   chan struct{}
	closed chan struct{}
	done   chan struct{}
	broken chan struct{}
	once   sync.Once
}

// Stats are the writer's counters, in records, except Bytes.
type Stats struct {
	Records    int // written or waiting
	Lost       int
	Backlog    int
	MaxBacklog int   // the largest backlog so far
	Bytes      int64 // compressed bytes written to the disk
}

// Create creates the history file at path, which must not exist, and writes the header.
func Create(path string, h Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	w, err := NewWriter(f, h)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	w.file = f
	return w, nil
}

// NewWriter writes a history to out, which it does not close.
func NewWriter(out io.Writer, h Header) (*Writer, error) {
	h.Schema = Schema
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("history header: %w", err)
	}
	w := &Writer{
		fill: newBatch(), free: []*batch{newBatch()}, out: out,
		wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}), broken: make(chan struct{}),
	}
	// One core: the other is for the measured processes.
	w.zw, err = zstd.NewWriter(counter{w}, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("history compressor: %w", err)
	}
	// The header is a frame of its own, on disk before anything is measured.
	if err := w.frame(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("write history header: %w", err)
	}
	go w.run()
	return w, nil
}

type counter struct{ w *Writer }

func (c counter) Write(p []byte) (int, error) {
	n, err := c.w.out.Write(p)
	c.w.mu.Lock()
	c.w.stats.Bytes += int64(n)
	c.w.mu.Unlock()
	return n, err
}

// Sample records an operation that has returned.
func (w *Writer) Sample(s Sample) {
	w.mu.Lock()
	if w.err == nil {
		w.fill.samples = append(w.fill.samples, s)
	}
	w.added(false)
}

// Record records any other record. The writer owns r from now on.
func (w *Writer) Record(r Record) {
	w.mu.Lock()
	if w.err == nil {
		w.fill.rest = append(w.fill.rest, r)
	}
	w.added(true)
}

// added counts the record that was just appended, and unlocks.
func (w *Writer) added(other bool) {
	if w.err != nil {
		w.stats.Lost++
		w.mu.Unlock()
		return
	}
	w.fill.others = append(w.fill.others, other)
	w.stats.Records++
	w.stats.Backlog++
	w.stats.MaxBacklog = max(w.stats.MaxBacklog, w.stats.Backlog)
	isFull := len(w.fill.others) == batchSize
	if isFull {
		w.full = append(w.full, w.fill)
		w.fill = w.empty()
	}
	w.mu.Unlock()
	if isFull {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// empty returns a batch to fill. A burst beyond the free ones costs a batch of memory, never a copy
// of the backlog.
func (w *Writer) empty() *batch {
	if k := len(w.free); k > 0 {
		b := w.free[k-1]
		w.free = w.free[:k-1]
		return b
	}
	return newBatch()
}

func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Err returns the first write error, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, errClosed) {
		return nil
	}
	return w.err
}

func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Close writes the backlog and the last line, and returns the writer's first error. Records after
// Close are lost. It may be called twice.
func (w *Writer) Close() error {
	w.once.Do(func() {
		close(w.closed)
		<-w.done
	})
	return w.Err()
}
