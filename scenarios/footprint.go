package scenarios

import (
	"runtime"

	"github.com/zkbench/zkbench/report/history"
)

// memory is what this process has.
type memory struct{ heap, stacks, goroutines int64 }

// memoryNow collects what is garbage first.
func memoryNow() memory {
	runtime.GC()
	runtime.GC() // the first one may have met a sweep under way
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{int64(m.HeapAlloc), int64(m.StackInuse), int64(runtime.NumGoroutine())}
}

// recordFootprint records what the clients' sessions take, beyond what there was before
// them. Where the clients are another process, or other trials run beside this one, that
// cannot be told.
func (st *stage) recordFootprint(before memory) {
	if st.driven || st.members.shared {
		return
	}
	now := memoryNow()
	st.record.Record(&history.Footprint{
		At: st.clock.Now(), Phase: st.phase.Name, Sessions: int64(len(st.clients)),
		Heap: now.heap - before.heap, Stacks: now.stacks - before.stacks, Goroutines: now.goroutines - before.goroutines,
	})
}
