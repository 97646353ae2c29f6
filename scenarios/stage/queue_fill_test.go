package stage

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFill_keepsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9]{1,4}-[0-9]{1,9}`).Draw(t, "id")
		size := rapid.IntRange(0, 300).Draw(t, "size")
		item := fill(id, size)
		if got := ItemIDOf(item); got != id {
			t.Fatalf("the identity of item %q reads %q", id, got)
		}
		if want := max(size, len(id)); len(item) != want {
			t.Fatalf("%d bytes, want %d", len(item), want)
		}
	})
	if got := ItemIDOf(make([]byte, 1000)); len(got) != 64 {
		t.Errorf("the identity of a foreign item has %d bytes, want the first 64", len(got))
	}
}
