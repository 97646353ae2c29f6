package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// frameEvery is the length of a zstd frame, and so the part of a trial that a crash may lose: an
	// open frame is only partly readable.
	frameEvery = time.Second
	// drainEvery is the interval at which the writer checks for records of a batch that is not full.
	drainEvery = 50 * time.Millisecond
	// batchSize is the number of records in a batch. A full batch wakes the writer.
	batchSize = 4096
	// keepFree is the maximum number of empty batches that are kept for reuse.
	keepFree = 4
)

// Writer records a history. Its methods are safe for concurrent use. Sample and Record never wait for
// the disk: they append to a batch in memory, which one goroutine encodes and writes. No record is
// dropped while the disk accepts writes; the backlog is unbounded, see [Stats].
//
// If a write fails, Err returns the error, Broken is closed, and later records count as lost: the
// trial must stop. Earlier records stay readable.
type Writer struct {
	mu    sync.Mutex
	fill  *batch
	full  []*batch
	free  []*batch
	stats Stats
	err   error

	out    io.Writer
	file   *os.File // closed by the Writer; nil if the caller owns out
	zw     *zstd.Encoder
	line   []byte
	opened bool

	wake   chan struct{}
	closed chan struct{}
	done   chan struct{}
	broken chan struct{}
	once   sync.Once
}

// Stats contains the writer's counters, which are numbers of records.
type Stats struct {
	Records    int // written, or waiting to be written
	Lost       int
	Backlog    int
	MaxBacklog int // the largest backlog so far
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

// NewWriter returns a Writer of a history to out, and writes the header. The Writer does not close out.
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
	// Use one core, so that the other cores are free for the measured processes.
	w.zw, err = zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("history compressor: %w", err)
	}
	// The header is a separate frame, so that it is written before the measurement begins.
	if err := w.frame(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("write history header: %w", err)
	}
	go w.run()
	return w, nil
}

func (w *Writer) Sample(s Sample) {
	w.mu.Lock()
	if w.err == nil {
		w.fill.samples = append(w.fill.samples, s)
	}
	w.countAndUnlock(false)
}

// Record records any other record. The caller must not change r afterwards.
func (w *Writer) Record(r Record) {
	w.mu.Lock()
	if w.err == nil {
		w.fill.rest = append(w.fill.rest, r)
	}
	w.countAndUnlock(true)
}

// countAndUnlock counts the record that was just appended, or lost, and unlocks w.mu.
func (w *Writer) countAndUnlock(other bool) {
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
		w.fill = w.takeFree()
	}
	w.mu.Unlock()
	if isFull {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// takeFree returns a batch to fill, if necessary a new one, so that a burst never copies the backlog.
func (w *Writer) takeFree() *batch {
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

// Broken returns a channel that is closed at the first write error, which Err returns.
func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Close writes the backlog and the end line, and returns the first error. It may be called more than once.
func (w *Writer) Close() error {
	w.once.Do(func() {
		close(w.closed)
		<-w.done
	})
	return w.Err()
}

// errClosed is the error of a closed Writer, so that later records count as lost.
var errClosed = errors.New("the history is closed")

func (w *Writer) run() {
	defer close(w.done)
	drain := time.NewTicker(drainEvery)
	defer drain.Stop()
	lastFrame := time.Now()
	for closing := false; !closing; {
		select {
		case <-w.wake:
		case <-drain.C:
		case <-w.closed:
			closing = true
		}
		w.drain()
		if time.Since(lastFrame) >= frameEvery {
			w.fail(w.endFrame())
			lastFrame = time.Now()
		}
	}
	w.finish()
}

func (w *Writer) drain() {
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	for b := w.take(); b != nil; b = w.take() {
		if err == nil {
			err = w.encode(b)
			w.fail(err)
		}
		w.recycle(b, err)
	}
}

func (w *Writer) take() *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.full) > 0 {
		b := w.full[0]
		w.full = slices.Delete(w.full, 0, 1)
		return b
	}
	if len(w.fill.others) == 0 {
		return nil
	}
	b := w.fill
	w.fill = w.takeFree()
	return b
}

// recycle counts a batch that was written, or lost if err is not nil, and keeps it for reuse.
func (w *Writer) recycle(b *batch, err error) {
	count := len(b.others)
	b.reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Backlog -= count
	if err != nil {
		w.stats.Lost += count
		w.stats.Records -= count
	}
	if len(w.free) < keepFree {
		w.free = append(w.free, b)
	}
}

func (w *Writer) fail(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil || errors.Is(w.err, errClosed) {
		w.err = fmt.Errorf("write history: %w: the trial ends here; earlier records stay readable", err)
		close(w.broken)
	}
}

// finish rejects further records, and writes the end line, which proves that the history is complete.
func (w *Writer) finish() {
	w.mu.Lock()
	failed := w.err
	if failed == nil {
		w.err = errClosed
	}
	w.mu.Unlock()
	var err error
	if failed == nil {
		err = w.writeEnd()
	}
	if failed != nil || err != nil {
		w.zw.Reset(io.Discard) // discard its content, which cannot be written
	}
	err = errors.Join(err, w.zw.Close())
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	if failed == nil {
		w.fail(err)
	}
}

func (w *Writer) writeEnd() error {
	for b := w.take(); b != nil; b = w.take() {
		err := w.encode(b)
		w.recycle(b, err)
		if err != nil {
			return err
		}
	}
	return w.frame(fmt.Appendf(nil, "{\"end\":{\"records\":%d}}\n", w.Stats().Records))
}

func (w *Writer) encode(b *batch) (err error) {
	samples, rest := b.samples, b.rest
	for _, other := range b.others {
		if other {
			w.line, err = appendRecord(w.line[:0], rest[0])
			rest = rest[1:]
		} else {
			w.line = appendSample(w.line[:0], &samples[0])
			samples = samples[1:]
		}
		if err == nil {
			err = w.write(w.line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write compresses a line. It opens a frame if no frame is open.
func (w *Writer) write(line []byte) error {
	if !w.opened {
		w.zw.Reset(w.out)
		w.opened = true
	}
	_, err := w.zw.Write(line)
	return err
}

// endFrame closes the open frame, if any, so that all lines up to here are readable.
func (w *Writer) endFrame() error {
	if !w.opened {
		return nil
	}
	w.opened = false
	return w.zw.Close()
}

func (w *Writer) frame(line []byte) error {
	if err := w.write(line); err != nil {
		return err
	}
	return w.endFrame()
}
