package wire

import (
	"testing"
	"time"
)

// Until waits until ok returns true, and fails the test when that takes too long.
func Until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(60 * time.Second)
	for !ok() {
		select {
		case <-late:
			tb.Fatal("waited in vain until " + what)
		case <-tick.C:
		}
	}
}
