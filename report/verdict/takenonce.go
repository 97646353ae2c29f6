package verdict

import "hash/maphash"

// takenOnce are the items of which nothing more should come, because they were put with
// certainty and taken once: the record that took each, by its identity's digest. There
// are as many as there are items. They are only read at the end, one part
// after the other, each small enough for the processor's cache: a map of all of them
// would wait for memory at every item.
type takenOnce struct {
	seeds [2]maphash.Seed
	parts [256][]takenItem
}

// firstPart is how many items a part has room for at first: 3 KiB.
const firstPart = 128

type takenItem struct {
	digest digest
	record int
}

// digest stands for an identity. It is long enough that no two items ever share one,
// which would be a false alarm.
type digest [2]uint64

func newTakenOnce() takenOnce {
	return takenOnce{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

func (s *takenOnce) digest(id string) digest {
	return digest{maphash.String(s.seeds[0], id), maphash.String(s.seeds[1], id)}
}

func (s *takenOnce) add(id string, record int) {
	d := s.digest(id)
	p := &s.parts[byte(d[0])]
	if *p == nil {
		*p = make([]takenItem, 0, firstPart)
	}
	*p = append(*p, takenItem{d, record})
}

// each yields every item and the record that took it, in that record's order for the
// same item: before is the record before it, 0 for none.
func (s *takenOnce) each(yield func(d digest, record, before int)) {
	last := map[digest]int{}
	for _, part := range s.parts {
		clear(last)
		for _, i := range part {
			yield(i.digest, i.record, last[i.digest])
			last[i.digest] = i.record
		}
	}
}
