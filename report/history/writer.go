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
	// wakeAt wakes the writer early, to keep batches small enough to stay in cache.
	wakeAt = 4096
)

// batch holds records in the order of their recording. kinds says which of the
// slices the next one comes from; three slices of values need no pointers.
type batch struct {
	kinds   []byte
	samples []Sample
	windows []Window
	notes   []Note
}

const (
	kindSample byte = iota
	kindWindow
	kindNote
)

// newBatch has room for a usual batch, so that the first ones need no growing.
func newBatch() *batch {
	return &batch{kinds: make([]byte, 0, 2*wakeAt), samples: make([]Sample, 0, 2*wakeAt), notes: make([]Note, 0, wakeAt)}
}

func (b *batch) reset() {
	clear(b.samples) // let go of the strings
	clear(b.windows)
	clear(b.notes)
	b.kinds, b.samples, b.windows, b.notes = b.kinds[:0], b.samples[:0], b.windows[:0], b.notes[:0]
}

// Writer records a history. Its methods may be called from any goroutine and
// never wait for the disk: they append to a batch in memory, which one
// goroutine takes away, encodes and writes. Nothing is dropped while the disk
// keeps accepting; the batch grows as long as it must, see [Stats].
//
// When a write fails, the error is kept, Broken is closed, and what follows is
// counted as lost: the trial must stop. What was written before stays readable.
type Writer struct {
	mu    sync.Mutex
	fill  *batch
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
		fill: newBatch(), out: out,
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
	w.added(kindSample)
}

// Window records a fault that is over.
func (w *Writer) Window(win Window) {
	w.mu.Lock()
	if w.err == nil {
		w.fill.windows = append(w.fill.windows, win)
	}
	w.added(kindWindow)
}

// Note records that something happened. The writer owns n.Counts from now on.
func (w *Writer) Note(n Note) {
	w.mu.Lock()
	if w.err == nil {
		w.fill.notes = append(w.fill.notes, n)
	}
	w.added(kindNote)
}

// added counts the record that was just appended, and unlocks.
func (w *Writer) added(kind byte) {
	if w.err != nil {
		w.stats.Lost++
		w.mu.Unlock()
		return
	}
	w.fill.kinds = append(w.fill.kinds, kind)
	waiting := len(w.fill.kinds)
	w.stats.Records++
	w.stats.MaxBacklog = max(w.stats.MaxBacklog, waiting)
	w.mu.Unlock()
	if waiting == wakeAt {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Stats returns the writer's counters.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Backlog = len(w.fill.kinds)
	return s
}

// Backlog returns how many records wait to be written.
func (w *Writer) Backlog() int { return w.Stats().Backlog }

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

// errClosed makes late records count as lost. It is no failure.
var errClosed = errors.New("the history is closed")

func (w *Writer) run() {
	defer close(w.done)
	drain := time.NewTicker(drainEvery)
	defer drain.Stop()
	spare, lastFrame := newBatch(), time.Now()
	for closing := false; !closing; {
		select {
		case <-w.wake:
		case <-drain.C:
		case <-w.closed:
			closing = true
		}
		spare = w.drain(spare)
		if time.Since(lastFrame) >= frameEvery {
			w.note(w.endFrame())
			lastFrame = time.Now()
		}
	}
	w.finish(spare)
}

// drain swaps the batches and writes the full one.
func (w *Writer) drain(empty *batch) *batch {
	w.mu.Lock()
	full := w.fill
	w.fill = empty
	err := w.err
	w.mu.Unlock()
	if err == nil {
		if err = w.encode(full); err != nil {
			w.lose(len(full.kinds), err)
		}
	}
	full.reset()
	return full
}

func (w *Writer) lose(records int, err error) {
	w.note(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Lost += records
	w.stats.Records -= records
}

// note keeps the first error and tells the trial.
func (w *Writer) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf("write history: %w: the trial stops here, what was written before stays readable", err)
		close(w.broken)
	}
}

// finish writes the last records and the end line, which proves completeness.
func (w *Writer) finish(spare *batch) {
	w.mu.Lock()
	last := w.fill
	w.fill = spare
	failed := w.err
	records := w.stats.Records
	if failed == nil {
		w.err = errClosed
	}
	w.mu.Unlock()
	err := failed
	if err == nil {
		err = w.encode(last)
	}
	if err == nil {
		err = w.write(fmt.Appendf(nil, "{\"end\":{\"records\":%d}}\n", records))
	}
	if err == nil {
		err = w.endFrame()
	}
	if failed != nil {
		w.zw.Reset(io.Discard) // its buffer cannot be written; Close would try
	}
	err = errors.Join(err, w.zw.Close())
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	if failed == nil && err != nil {
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
		w.note(err)
	}
}

func (w *Writer) encode(b *batch) error {
	var s, win, n int
	for _, kind := range b.kinds {
		switch kind {
		case kindSample:
			w.line = appendSample(w.line[:0], &b.samples[s])
			s++
		case kindWindow:
			w.line = appendWindow(w.line[:0], &b.windows[win])
			win++
		case kindNote:
			w.line = appendNote(w.line[:0], &b.notes[n])
			n++
		}
		if err := w.write(w.line); err != nil {
			return err
		}
	}
	return nil
}

// write opens a frame where none is open.
func (w *Writer) write(line []byte) error {
	if !w.opened {
		w.zw.Reset(counter{w})
		w.opened = true
	}
	_, err := w.zw.Write(line)
	return err
}

// endFrame closes the frame, if one is open: from here back, all is readable.
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
