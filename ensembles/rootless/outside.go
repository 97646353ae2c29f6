package rootless

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
)

// Outside returns this user's ID outside of this process's user namespace. mapped is false if the ID
// is the same inside.
func Outside() (id int, mapped bool) { return outside(os.DirFS("/proc"), os.Geteuid()) }

// outside looks up an ID in proc, the file system /proc: each line of uid_map has the first ID inside,
// the first ID outside, and the number of IDs.
func outside(proc fs.FS, id int) (is int, mapped bool) {
	const all = 1<<32 - 1
	text, err := fs.ReadFile(proc, "self/uid_map")
	if err != nil {
		return id, false // not Linux: there are no user namespaces
	}
	for line := range bytes.Lines(text) {
		var first, to, count int64
		if _, err := fmt.Sscan(string(line), &first, &to, &count); err == nil && int64(id) >= first && int64(id)-first < count {
			return int(to + int64(id) - first), count < all
		}
	}
	return id, true
}
