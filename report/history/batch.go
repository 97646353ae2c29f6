package history

// batch holds records in the order of their recording. Samples, of which there are
// many, are kept as values; others says for each record whether it is the next of
// the rest.
type batch struct {
	others  []bool
	samples []Sample
	rest    []Record
}

// newBatch has room for the usual, so that nothing grows while measuring.
func newBatch() *batch {
	return &batch{others: make([]bool, 0, batchSize), samples: make([]Sample, 0, batchSize), rest: make([]Record, 0, batchSize/4)}
}

func (b *batch) reset() {
	clear(b.samples) // drops the strings
	clear(b.rest)
	b.others, b.samples, b.rest = b.others[:0], b.samples[:0], b.rest[:0]
}
