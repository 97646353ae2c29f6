package scenarios

import (
	"runtime"

	"github.com/zkbench/zkbench/report/history"
)

type memory struct{ heap, stacks, goroutines int64 }

func memoryNow() memory {
	runtime.GC()
	runtime.GC() // the first may have met a collection in progress
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{int64(m.HeapAlloc), int64(m.StackInuse), int64(runtime.NumGoroutine())}
}

// recordFootprint records the memory that the clients' sessions use. It records nothing if the
// clients run in another process or other trials run at the same time.
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
