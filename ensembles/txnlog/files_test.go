package txnlog

import (
	"slices"
	"testing"
)

func TestSelect_skipsFilesThatEndTooEarly(t *testing.T) {
	names := []string{"log.200000001", "snapshot.0", "log.1000000ff", "log.100000001", "log.zz", "currentEpoch", "log.f"}
	for name, test := range map[string]struct {
		after int64
		want  []string
	}{
		"from the beginning":                     {0, []string{"log.f", "log.100000001", "log.1000000ff", "log.200000001"}},
		"from within a file":                     {0x100000080, []string{"log.100000001", "log.1000000ff", "log.200000001"}},
		"from the last entry of a file":          {0x1000000fe, []string{"log.1000000ff", "log.200000001"}},
		"from one before the last":               {0x1000000fd, []string{"log.100000001", "log.1000000ff", "log.200000001"}},
		"from the end of an epoch, not known":    {0x1000001ff, []string{"log.1000000ff", "log.200000001"}},
		"the last file may always have it":       {0x900000000, []string{"log.200000001"}},
		"from the end of what an epoch could be": {0x200000000, []string{"log.200000001"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Select(names, test.after); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
