package agents

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLastLine_isTheLastLineOrTheCrash(t *testing.T) {
	for _, row := range []struct{ want, prints string }{
		{"", ""},
		{": two", "one\ntwo\n\n"},
		{": panic: assignment to entry in nil map", "one\npanic: assignment to entry in nil map\n\ngoroutine 7 [running]:\ncreated by main.main\n"},
		{": fatal error: all goroutines are asleep - deadlock!", "fatal error: all goroutines are asleep - deadlock!\nmain.go:3\n"},
	} {
		log := filepath.Join(t.TempDir(), "log")
		must(t, os.WriteFile(log, []byte(row.prints), 0o600))
		if got := lastLine(log); got != row.want {
			t.Errorf("%q: %q, want %q", row.prints, got, row.want)
		}
	}
}
