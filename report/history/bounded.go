package history

import (
	"errors"
	"io"
)

// A history whose text exceeds both of these is rejected: JSON lines of records compress to a tenth
// or a thirtieth, a file made to fill memory to a thousandth.
const (
	textFloor = 64 << 20 // bytes of text that any file may have
	textRatio = 100      // bytes of text per byte of the file
)

// ErrExpands is wrapped by the error of a file whose text is out of proportion to its size.
var ErrExpands = errors.New("the text is more than a hundred times as large as the file, which no history of zkbench is")

// bounded reads the text of a compressed file.
type bounded struct {
	text       io.Reader
	compressed *counted
	read       int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if b.read += int64(n); b.read > textFloor && b.read > textRatio*b.compressed.n {
		return 0, ErrExpands
	}
	return n, err
}

// counted counts the bytes read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
