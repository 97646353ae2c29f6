package recipes

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSequence_isWhatTheServersAppended(t *testing.T) {
	for _, row := range []struct {
		about, name string
		n           int32
		ok          bool
	}{
		{"a lock node", "0123456789abcdef-lock-0000000012", 12, true},
		{"a lock node of Curator's or go-zookeeper's", "_c_c4a7b2d0-1b2c-lock-0000000007", 7, true},
		{"the last number before the counter wraps", "a-lock-2147483647", 2147483647, true},
		{"the first number after the wrap has eleven characters", "a-lock--2147483648", -2147483648, true},
		{"a small negative number has ten characters, sign included", "a-lock--000000005", -5, true},
		{"a foreign child", "config", 0, false},
		{"the name on which go-zookeeper panics", "_c_x", 0, false},
		{"a name without a sequence", "a-lock-", 0, false},
		{"too few digits", "a-lock-12", 0, false},
		{"letters where digits belong", "a-lock-00000000x2", 0, false},
		{"more than 32 bits", "a-lock-9999999999", 0, false},
		{"the lowest number that has ten characters", "a-lock--999999999", -999999999, true},
		{"a plus sign is none of ZooKeeper's", "a-lock-+000000012", 0, false},
		{"twelve characters", "a-lock-000000000012", 0, false},
		{"more than 32 bits, negative", "a-lock--9999999999", 0, false},
		{"no id before the prefix", "-lock-0000000012", 12, true},
		{"nothing but digits", "0000000012", 0, false},
		{"nothing", "", 0, false},
		{"another prefix", "a-read-0000000012", 0, false},
	} {
		t.Run(row.about, func(t *testing.T) {
			if n, ok := sequence(row.name, "-lock-"); n != row.n || ok != row.ok {
				t.Errorf("sequence(%q) = %d, %v; want %d, %v", row.name, n, ok, row.n, row.ok)
			}
		})
	}
}

// Whatever number the counter has reached, names come back in the order of their
// creation, foreign children are passed over, and ahead agrees with line.
func TestLine_ordersByCreation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int32().Draw(t, "first")
		steps := rapid.SliceOfN(rapid.Int32Range(1, 1<<20), 1, 50).Draw(t, "steps")
		var want []string
		n := first
		for i, step := range steps {
			// Ids in falling order, so that sorting by name cannot be right by accident.
			want = append(want, fmt.Sprintf("%04x-lock-%010d", 0xffff-i, n))
			n += step
		}
		mixed := append(slices.Clone(want), "config", "_c_x", "zz-lock-", "x-write-0000000000")
		mixed = rapid.Permutation(mixed).Draw(t, "mixed")
		var got []string
		for _, p := range sortedNodes(mixed, "-lock-") {
			got = append(got, p.name)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("line:\n got %q\nwant %q", got, want)
		}
		for i, ours := range want {
			n, next, found := ahead(mixed, ours, "-lock-", "-lock-")
			if !found || n != i || (i > 0 && next != want[i-1]) {
				t.Fatalf("ahead(%q) = %d, %q, %v; want %d", ours, n, next, found, i)
			}
		}
	})
}
