package rootless

import (
	"testing"
	"testing/fstest"
)

func TestOutside_isTheIDBeyondTheUserNamespace(t *testing.T) {
	for _, row := range []struct {
		about, uidMap string
		id, want      int
		mapped        bool
	}{
		{"the machine's own", "         0          0 4294967295\n", 1000, 1000, false},
		{"root of a namespace of one user", "         0       1000          1\n", 0, 1000, true},
		{"root of a namespace of root's", "         0          0          1\n", 0, 0, true},
		{"a container without root", "         0       1000          1\n         1     100000      65536\n", 33, 100032, true},
		{"one who is not mapped", "         0       1000          1\n", 65534, 65534, true},
		{"nothing written yet", "", 65534, 65534, true},
	} {
		t.Run(row.about, func(t *testing.T) {
			proc := fstest.MapFS{"self/uid_map": {Data: []byte(row.uidMap)}}
			if got, mapped := outside(proc, row.id); got != row.want || mapped != row.mapped {
				t.Errorf("got %d, %v, want %d, %v", got, mapped, row.want, row.mapped)
			}
		})
	}
	if got, mapped := outside(fstest.MapFS{}, 1000); got != 1000 || mapped {
		t.Errorf("without /proc: %d, %v", got, mapped)
	}
}
