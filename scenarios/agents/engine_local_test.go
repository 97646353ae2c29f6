package agents

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTail_isTheLastLineOrTheCrash(t *testing.T) {
	for _, row := range []struct {
		want   string
		prints []string
	}{
		{"", nil},
		{": two", []string{"one\n", "two\n", "\n"}},
		{": panic: assignment to entry in nil map", []string{"one\n", "panic: assignment to entry in nil map\n\ngoroutine 7", " [running]:\n", "created by main.main\n"}},
		{": fatal error: all goroutines are asleep - deadlock!", []string{"fatal error: all goroutines are asleep - deadlock!\n", "main.go:3\n"}},
	} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		printed := &tail{to: log}
		for _, s := range row.prints {
			if _, err := printed.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		if got := printed.last(); got != row.want {
			t.Errorf("%q: %q, want %q", row.prints, got, row.want)
		}
	}
}
