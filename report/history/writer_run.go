package history

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// errClosed makes late records count as lost.
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

// drain writes the backlog.
func (w *Writer) drain() {
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	for b := w.take(); b != nil; b = w.take() {
		if err == nil {
			err = w.encode(b)
			w.fail(err)
		}
		w.give(b, err)
	}
}

// take returns the oldest batch with records, or nil.
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
	w.fill = w.empty()
	return b
}

// give accounts for a batch that was written, or lost to err.
func (w *Writer) give(b *batch, err error) {
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
	if w.err == nil {
		w.failed(err)
	}
}

// failed sets the error of the writer. The caller holds w.mu.
func (w *Writer) failed(err error) {
	w.err = fmt.Errorf("write history: %w: the trial ends here; earlier records stay readable", err)
	close(w.broken)
}

// finish rejects further records, and writes the end line, which proves that the history is
// complete.
func (w *Writer) finish() {
	w.mu.Lock()
	failed := w.err
	if failed == nil {
		w.err = errClosed
	}
	w.mu.Unlock()
	var err error
	if failed == nil {
		err = w.ending()
	}
	if failed != nil || err != nil {
		w.zw.Reset(io.Discard) // its content cannot be written
	}
	err = errors.Join(err, w.zw.Close())
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	if failed == nil && err != nil {
		w.mu.Lock()
		w.failed(err) // in one step: a record in between would be counted, and never written
		w.mu.Unlock()
	}
}

// ending writes the records of the last drain, and the end line.
func (w *Writer) ending() error {
	for b := w.take(); b != nil; b = w.take() {
		err := w.encode(b)
		w.give(b, err)
		if err != nil {
			return err
		}
	}
	line := fmt.Appendf(nil, "{\"end\":{\"records\":%d}}\n", w.Stats().Records)
	if err := w.write(line); err != nil {
		return err
	}
	return w.endFrame()
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

// write opens a frame if none is open.
func (w *Writer) write(line []byte) error {
	if !w.opened {
		w.zw.Reset(counter{w})
		w.opened = true
	}
	_, err := w.zw.Write(line)
	return err
}

// endFrame closes the open frame: everything before is readable.
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
