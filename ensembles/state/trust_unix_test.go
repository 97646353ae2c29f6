//go:build unix

package state

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Something of another user, or no folder, in the place of an ensemble's folder is not opened, and a
// named pipe is not waited for.
func TestOpenDir_refusesWhatIsNotAFolderOfThisUser(t *testing.T) {
	dir := t.TempDir()
	pipe, link, plain, foreign := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file"), filepath.Join(dir, "foreign")
	for _, err := range []error{syscall.Mkfifo(pipe, 0o600), os.Symlink(dir, link), os.WriteFile(plain, nil, 0o600), os.Mkdir(foreign, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	names := []string{pipe, link, plain}
	if os.Geteuid() == 0 {
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		names = append(names, foreign)
	}
	for _, name := range names {
		if _, err := OpenDir(name); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	f, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// A process of another user with an ensemble's mark is not one of its members.
func TestFindAll_findsOnlyProcessesOfThisUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	mark := "-Dzkbench.test=" + filepath.Base(t.TempDir()) + strconv.Itoa(os.Getpid())
	start := func(uid uint32) *exec.Cmd {
		c := exec.Command("sh", "-c", "echo; read line", mark)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err == nil {
			_, err = out.Read(make([]byte, 1)) // it runs
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = c.Wait() })
		return c
	}
	start(65534)
	own := start(0)
	if found := FindAll(mark); len(found) != 1 || found[0].PID != own.Process.Pid {
		t.Errorf("found %v, want only process %d", found, own.Process.Pid)
	}
}
