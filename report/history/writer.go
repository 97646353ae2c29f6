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
	// frameEvery is how much of a trial a crash may lose: a zstd frame that was
	// not closed is readable only in part.
	frameEvery = time.Second
	// drainEvery is how often the writer looks without being woken.
	drainEvery = 50 * time.Millisecond
	// batchSize is the number of records in a batch. A full batch wakes the writer.
	batchSize = 4096
	// keepFree is how many empty batches are kept for the next burst.
	keepFree = 4
)

// Writer records a history. Its methods may be called from any goroutine and
// never wait for the disk: they append to a batch in memory, which one
// goroutine takes away, encodes and writes. Nothing is dropped while the disk
// keeps accepting; the backlog grows as long as it must, see [Stats].
//
// When a write fails, the error is kept, Broken is closed, and what follows is
// counted as lost: the trial must stop. What was written before stays readable.
type Writer struct {
	mu    sync.Mutex
	fill  *batch
	full  []*batch // waiting, oldest first
	free  []*batch
	stats Stats
	err   error

	out    io.Writer
	file   *os.File // ours to close; nil when the io.Writer is the caller's
	zw     *zstd.Encoder
	line   []byte
	opened bool // a frame is open

	wake   chan struct{}
	closed chan struct{}
	done   chan struct{}
	broken chan struct{}
	once   sync.Once
}

// Stats is the writer about itself. All are numbers of records, but Bytes.
type Stats struct {
	Records    int   // written, or waiting to be
	Lost       int   // recorded after a failed write, or in its batch; 0 unless Err
	Backlog    int   // waiting now
	MaxBacklog int   // the most that ever waited
	Bytes      int64 // compressed bytes that were handed to the disk
}

// Create makes the history file at path, which must not exist yet, and writes
// the header.
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
	// One core: the other is for what is being measured.
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

// counter counts the bytes that go to the disk.
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

// Record records anything else. The writer owns r from now on.
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

// empty returns a batch to fill. A burst beyond the free ones costs a batch of
// memory, never a copy of what waits already.
func (w *Writer) empty() *batch {
	if k := len(w.free); k > 0 {
		b := w.free[k-1]
		w.free = w.free[:k-1]
		return b
	}
	return newBatch()
}

// Stats returns the writer's counters.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Err returns the first write error, or nil. It stays once it is set.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, errClosed) {
		return nil
	}
	return w.err
}

// Broken is closed when a write has failed: the trial has to stop, see Err.
func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Close writes what waits and the closing line, and returns the first error of
// the writer's whole life. Records that come after Close are lost. It is safe to
// call twice.
func (w *Writer) Close() error {
	w.once.Do(func() {
		close(w.closed)
		<-w.done
	})
	return w.Err()
}
