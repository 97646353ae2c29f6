package verdict

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report/history"
)

func TestFencing(t *testing.T) {
	judgeStories(t, Fencing, []row{
		{"tokens that rise with the versions are well", `
			acquire 1 5 0 1
			write 1 5 1 2
			write 1 5 2 3
			write 2 6 3 4`, Pass, "3 writes accepted, 0 refused"},
		{"a token that goes down was a stale write", `
			write 2 6 1 2
			acquire 1 5 0 1
			write 1 5 2 3`, Fail, "token 5 was accepted as version 2 (record 3) after token 6 (record 1)"},
		{"the version decides the order, not the reply", `
			acquire 1 5 0 1
			write 2 6 2 2
			write 1 5 1 3
			write 2 7 3 4`, Pass, ""},
		{"a late reply convicts the writes after it", `
			acquire 1 5 0 1
			write 1 5 2 2
			write 2 6 3 3
			write 2 6 1 4`, Fail, "token 5 was accepted as version 2 (record 2) after token 6 (record 4)"},
		{"a refused stale write is counted, and well", `
			acquire 1 5 0 1
			write 2 6 1 2
			write 1 5 0 3 failed`, Pass, "1 refused as stale"},
		{"a write without a reply proves nothing", `
			acquire 1 5 0 1
			write 2 6 1 2
			write 1 5 0 3 unknown`, Pass, "1 of unknown outcome"},
		{"an accepted write without a version cannot be placed", `
			acquire 1 5 0 1
			write 2 6 1 2
			write 1 5 0 3`, Unknown, "1 accepted writes have no version"},
		{"no write, no verdict", "acquire 1 5 0 1", Unknown, "accepted no write"},
	})
}

// However the replies are shuffled within reach, the verdict is that of the order.
func TestFencing_doesNotDependOnTheOrderOfReplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 40).Draw(t, "tokens")
		stale, high := 0, int64(0)
		for _, k := range tokens {
			if k < high {
				stale++
			}
			high = max(high, k)
		}
		f := &fences{}
		for _, i := range rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)).Perm(len(tokens)) {
			f.record(history.Numbered{N: i + 1, Record: &history.Sample{
				Op: history.Write, Outcome: history.OK, Token: tokens[i], Version: int64(i + 1)}})
		}
		if got := f.broken.count; (got > 0) != (stale > 0) {
			t.Fatalf("%v: %d stale writes found, want %d", tokens, got, stale)
		}
	})
}

func TestFencing_forgetsOldWritesAndStillKnowsTheHighestToken(t *testing.T) {
	f := &fences{}
	write := func(version, token int64) {
		f.record(history.Numbered{N: int(version), Record: &history.Sample{
			Op: history.Write, Outcome: history.OK, Token: token, Version: version, Return: time.Duration(version)}})
	}
	const many = 5 * keepWrites
	for v := range int64(many) {
		write(v+1, 1000+v)
	}
	if len(f.recent) > 2*keepWrites || f.broken.count > 0 {
		t.Fatalf("%d kept, %d stale", len(f.recent), f.broken.count)
	}
	write(many+1, 999)
	if f.broken.count != 1 {
		t.Error("the stale write was not found")
	}
	write(3, 1002)
	if f.unplaced != 1 {
		t.Error("a reply that is too late to be compared was not counted")
	}
}
