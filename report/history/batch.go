package history

type batch struct {
	others  []bool
	samples []Sample
	rest    []Record
}

// newBatch allocates the usual size, so that nothing grows during a measurement.
func newBatch() *batch {
	return &batch{others: make([]bool, 0, batchSize), samples: make([]Sample, 0, batchSize), rest: make([]Record, 0, batchSize/4)}
}

func (b *batch) reset() {
	clear(b.samples) // drops the strings
	clear(b.rest)
	b.others, b.samples, b.rest = b.others[:0], b.samples[:0], b.rest[:0]
}
