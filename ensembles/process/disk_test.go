//go:build linux

package process

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func needsDisks(t *testing.T) {
	t.Helper()
	if err := CheckDisks(); err != nil {
		t.Skip(err)
	}
}

// seesFUSE reports whether a FUSE file system is mounted below the folder in the mount namespace of the process or thread.
func seesFUSE(t *testing.T, process, dir string) bool {
	t.Helper()
	mounts, err := os.ReadFile(filepath.Join("/proc", process, "mounts"))
	check.OK(t, err)
	return slices.ContainsFunc(strings.Split(string(mounts), "\n"), func(line string) bool {
		fields := strings.Fields(line)
		return len(fields) > 2 && strings.HasPrefix(fields[1], dir) && strings.HasPrefix(fields[2], "fuse")
	})
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func TestDisks_onlyTheMembersProcessUsesTheFileSystem(t *testing.T) {
	needsDisks(t)
	e := up(t, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond, Disks: true})
	ctx, r, m := check.Within(t, time.Minute), recorded(t, e.ID), e.Members[0]
	c, _, err := zk.Connect([]string{m.Addr}, 10*time.Second, zk.WithLogger(silent{}))
	check.OK(t, err)
	defer c.Close()
	commit := func() time.Duration {
		begin := time.Now()
		_, err := c.Create("/disk-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		check.OK(t, err)
		return time.Since(begin)
	}
	commit() // the first one waits for the session
	inspect := func() {
		t.Helper()
		jvm := fmt.Sprint(state.FindAll(memberArg(r.ID, m.Name))[0].PID)
		for process, want := range map[string]bool{jvm: true, "self": false} {
			if seesFUSE(t, process, r.Dir) != want {
				t.Errorf("process %s has the mount: %v", process, !want)
			}
		}
	}
	inspect()
	const delay = 2 * time.Second
	heal, hits, err := m.Disk.Break(delay)
	check.OK(t, err)
	if took := commit(); took < delay {
		t.Errorf("a commit took %v on a slow disk", took)
	}
	if hits() == 0 {
		t.Error("no fsync was delayed")
	}
	heal()
	if took := commit(); took >= delay {
		t.Errorf("a commit took %v on a healed disk", took)
	}
	logs, err := m.Machine.TxnLogs(ctx, 0)
	check.OK(t, err)
	for _, l := range logs {
		l.Close()
	}
	if len(logs) == 0 {
		t.Error("zkbench does not see the transaction logs")
	}
	// A disk keeps its fault over a restart, and a process that waits for it can be killed.
	heal, _, err = m.Disk.Break(time.Hour)
	check.OK(t, err)
	go c.Create("/waits", nil, 0, zk.WorldACL(zk.PermAll))
	jvm := state.FindAll(memberArg(r.ID, m.Name))[0]
	check.Eventually(t, "a thread waits for the disk", func() bool { return waitsForFUSE(jvm.PID) })
	check.OK(t, m.Machine.Kill(ctx))
	heal()
	check.OK(t, m.Machine.Start(ctx))
	inspect()
	c.Close() // it would wait forever for a member that ends with its network
	check.OK(t, e.Down(ctx))
	nothingLeft(t, r)
}

// waitsForFUSE reports whether a thread of the process waits for the reply to a request to a FUSE file system.
func waitsForFUSE(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
	return slices.ContainsFunc(threads, func(name string) bool {
		where, _ := os.ReadFile(name)
		return strings.Contains(string(where), "fuse") || strings.Contains(string(where), "request_wait_answer")
	})
}

func TestDisks_leaveNothingAfterKill(t *testing.T) {
	needsDisks(t)
	owner, r := startOwner(t, "disks") // its members' disks take an hour
	c, err := net.Dial("tcp", r.Members[0].Addr())
	check.OK(t, err)
	defer c.Close()
	_, err = c.Write(connectRequest()) // a new session is a transaction
	check.OK(t, err)
	jvms := state.FindAll(ensembleArg(r.ID))
	check.Eventually(t, "a thread waits for the disk", func() bool {
		return slices.ContainsFunc(jvms, func(p state.Process) bool { return waitsForFUSE(p.PID) })
	})
	check.OK(t, owner.Process.Kill())
	_ = owner.Wait() // its error is that it was killed
	check.Eventually(t, "the JVMs are gone", func() bool { return len(state.FindAll(ensembleArg(r.ID))) == 0 })
	if seesFUSE(t, "self", r.Dir) {
		t.Error("a mount is left")
	}
	swept(t, false, r.ID)
	nothingLeft(t, r)
}

// connectRequest is a client's first message: it asks for a session with a timeout of 10 s.
func connectRequest() []byte {
	b := append(binary.BigEndian.AppendUint32(nil, 44), make([]byte, 4+8)...) // protocol version, last zxid
	b = append(binary.BigEndian.AppendUint32(b, 10_000), make([]byte, 8)...)  // session ID
	return append(binary.BigEndian.AppendUint32(b, 16), make([]byte, 16)...)  // password
}

func TestDisks_areOrdinaryInPersistentEnsembles(t *testing.T) {
	e := up(t, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond, Disks: true, Keep: true})
	if e.Members[0].Disk != nil {
		t.Error("zkbench would have to serve the disk after its end")
	}
}
