package history

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

// newBatch has room for the usual, so that nothing grows while measuring.
func newBatch() *batch {
	return &batch{kinds: make([]byte, 0, batchSize), samples: make([]Sample, 0, batchSize), notes: make([]Note, 0, batchSize/4)}
}

func (b *batch) reset() {
	clear(b.samples) // let go of the strings
	clear(b.windows)
	clear(b.notes)
	b.kinds, b.samples, b.windows, b.notes = b.kinds[:0], b.samples[:0], b.windows[:0], b.notes[:0]
}
