package site

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestHere_programsReadAHostsFileOfTheirOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	before, err := os.ReadFile("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hosts")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteAt([]byte(text), 0)
			err2 := f.Close()
			if err == nil {
				err = err2
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("127.9.8.7 zk1\n")
	p, err := Here{Hosts: file}.Start(Program{Args: []string{"sh", "-c", "read go; cat /etc/hosts"}})
	if errors.Is(err, syscall.EPERM) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	write("127.9.8.8 zk1\n") // it moves while the program runs
	if _, err := io.WriteString(p.Stdin(), "go\n"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(p.Stdout())
	if string(got) != "127.9.8.8 zk1\n" || err != nil {
		t.Errorf("the program reads %q (%v)", got, err)
	}
	<-p.Exited()
	if ours, err := os.ReadFile("/etc/hosts"); string(ours) != string(before) || err != nil {
		t.Errorf("this process reads %q (%v)", ours, err)
	}
	_ = p.Stdin().Close()
	_ = p.Stdout().Close()
	_ = p.Stderr().Close()
}
