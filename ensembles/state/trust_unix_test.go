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

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// Something of another user, or no folder, in the place of an ensemble's folder is not opened, and a
// named pipe is not waited for.
func TestOpenDir_refusesWhatIsNotAFolderOfThisUser(t *testing.T) {
	dir := t.TempDir()
	pipe, link, plain, foreign := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file"), filepath.Join(dir, "foreign")
	check.OK(t, syscall.Mkfifo(pipe, 0o600))
	check.OK(t, os.Symlink(dir, link))
	check.OK(t, os.WriteFile(plain, nil, 0o600))
	check.OK(t, os.Mkdir(foreign, 0o755))
	names := []string{pipe, link, plain}
	if os.Geteuid() == 0 {
		check.OK(t, os.Chown(foreign, 65534, 65534))
		names = append(names, foreign)
	}
	for _, name := range names {
		if _, err := OpenDir(name); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	f, err := OpenDir(dir)
	check.OK(t, err)
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
		check.OK(t, err)
		out, err := c.StdoutPipe()
		check.OK(t, err)
		check.OK(t, c.Start())
		_, err = out.Read(make([]byte, 1)) // it runs
		check.OK(t, err)
		t.Cleanup(func() { in.Close(); _ = c.Wait() })
		return c
	}
	start(65534)
	own := start(0)
	if found := FindAll(mark); len(found) != 1 || found[0].PID != own.Process.Pid {
		t.Errorf("found %v, want only process %d", found, own.Process.Pid)
	}
}
