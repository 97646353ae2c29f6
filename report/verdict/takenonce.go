package verdict

import "hash/maphash"

// takenOnce is the items that are complete, because they were certainly put and taken once: the
// record that took each, by a hash of its ID. There are as many as items. They are read only at the
// end, in parts that fit the processor's cache: a map of all of them would wait for memory at every
// item.
type takenOnce struct {
	seeds [2]maphash.Seed
	parts [256][]takenItem
}

// firstPart is the initial capacity of a part: 3 KiB.
const firstPart = 128

type takenItem struct {
	digest digest
	record int
}

// digest is a hash of an ID, long enough that no two items share one, which would be a false alarm.
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

// each yields every item and the record that took it, in that record's order for the same item:
// before is the record before it, 0 for none.
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
