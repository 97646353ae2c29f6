package check

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

func checkPutTake(k *checker) {
	a, b := k.client(), k.client()
	items := []string{"check-1", "check-2 with some more text in it", "check-3" + strings.Repeat("x", lines.MaxItem-7)}
	for _, item := range items {
		k.put(a, item, "a put that nothing blocks")
	}
	var got []string
	for range items {
		t := k.beginTake(b)
		k.require(t.awaitReturn(grantLimit) && t.err == nil, "%d items are in the queue, but a take did not return any within %v: %v", len(items)-len(got), grantLimit, t.err)
		got = append(got, string(t.item))
	}
	sorted := slices.Sorted(slices.Values(got))
	k.require(slices.Equal(sorted, items), "the items put are %.60q, but the items taken are %.60q", items, got)
	if k.p.Hello.Promises.FIFO {
		k.require(slices.Equal(got, items), "fifo is promised: items were put in the order %.60q, but taken in the order %.60q", items, got)
	}
}

func checkWaitingTake(k *checker) {
	a, b := k.client(), k.client()
	t := k.waitingTake(b)
	k.must(k.p.MeasureClock(1))
	k.put(a, "check", "a put during a waiting take")
	k.require(t.awaitReturn(grantLimit) && t.err == nil && string(t.item) == "check", "an item was put, but the waiting take returned %q, %v", t.item, t.err)
}

func checkCancelledTake(k *checker) {
	a := k.client()
	t := k.waitingTake(a)
	t.giveUp()
	k.require(t.awaitReturn(2*timeout), "the cancelled take did not answer within %v", 2*timeout)
	k.require(t.err != nil, "a cancelled take returned an item of an empty queue: %q", t.item)
}
