package recipes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// sequenceDigits is the length of the suffix that ZooKeeper appends to the name of
// a sequential node ("%010d"). A negative number, after the counter has wrapped,
// is "-" and ten digits.
const sequenceDigits = 10

// sequence returns the number that ZooKeeper appended to name. ok is false for a
// name that no sequential create has made, like "config".
func sequence(name string) (n int32, ok bool) {
	if len(name) < sequenceDigits {
		return 0, false
	}
	digits := name[len(name)-sequenceDigits:]
	if strings.TrimLeft(digits, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	// "lock--0000000005" is number -5 under prefix "lock-", and a node under prefix
	// "lock--" does not exist: our prefixes end in exactly one hyphen.
	if rest := name[:len(name)-sequenceDigits]; strings.HasSuffix(rest, "--") {
		v = -v
	}
	if v != int64(int32(v)) {
		return 0, false
	}
	return int32(v), true
}

// before tells whether sequence number a was handed out before b. The counter is
// an int32 that wraps from 2147483647 to -2147483648, so compare the distance,
// like serial numbers (RFC 1982): right as long as fewer than 2^31 nodes lie between.
func before(a, b int32) bool { return a-b < 0 }

// place is a child of the contested parent that stands in line.
type place struct {
	name string
	seq  int32
}

// line returns the children that stand in line under prefix, in the order in which
// the servers created them. Other children, "config" or somebody else's files, are
// not in line: they are passed over.
func line(names []string, prefix string) []place {
	out := make([]place, 0, len(names))
	for _, name := range names {
		if !strings.Contains(name, prefix) {
			continue
		}
		if n, ok := sequence(name); ok {
			out = append(out, place{name, n})
		}
	}
	slices.SortFunc(out, func(a, b place) int {
		switch {
		case a.seq == b.seq:
			return cmp.Compare(a.name, b.name)
		case before(a.seq, b.seq):
			return -1
		}
		return 1
	})
	return out
}

// ahead returns how many contenders stand before ours and the one directly before
// it. found is false if ours is not in line.
func ahead(names []string, prefix, ours string) (n int, next string, found bool) {
	for _, c := range line(names, prefix) {
		if c.name == ours {
			return n, next, true
		}
		n, next = n+1, c.name
	}
	return 0, "", false
}

// base returns the last element of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
