//go:build unix

package state

import "testing"

func TestForeign_namesUsersByNumbersThatTheUserKnows(t *testing.T) {
	for about, row := range map[string]struct {
		owner         uint32
		here, outside int
		mapped        bool
		want          string
	}{
		"an ordinary user":         {4711, 1000, 1000, false, "d belongs to user 4711, and this is user 1000"},
		"root":                     {4711, 0, 0, false, "d belongs to user 4711, and this is user 0"},
		"root of a user namespace": {65534, 0, 1000, true, "d belongs to another user, shown as 65534 in the user namespace that this runs in, and this is user 1000, shown as 0"},
	} {
		if got := foreign("d", row.owner, row.here, row.outside, row.mapped).Error(); got != row.want {
			t.Errorf("%s: got %q, want %q", about, got, row.want)
		}
	}
}
