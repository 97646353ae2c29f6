//go:build linux

package process

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zkbench/zkbench/ensembles"
)

// dataNode is a file or folder of a member's data folder, as the member's process sees it if its disk can have
// faults: in a FUSE file system that zkbench serves from the same folder. The file system is mounted over the folder
// in a mount namespace of the process. The mount ends with the process, and the process with zkbench, even
// if zkbench is killed. zkbench itself does not see the mount.
type dataNode struct {
	*fs.LoopbackNode
	disk *ensembles.Disk
}

func (n *dataNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &dataNode{child.(*fs.LoopbackNode), n.disk}
}

func (n *dataNode) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	if errno := n.access(ctx, true); errno != 0 {
		return errno
	}
	return f.(fs.FileFsyncer).Fsync(ctx, flags)
}

// Writev is called for all writes.
func (n *dataNode) Writev(ctx context.Context, f fs.FileHandle, data [][]byte, offset int64) (uint32, syscall.Errno) {
	if errno := n.access(ctx, false); errno != 0 {
		return 0, errno
	}
	return f.(fs.FileWritever).Writev(ctx, data, offset)
}

func (n *dataNode) access(ctx context.Context, fsync bool) syscall.Errno {
	if name, _ := n.EmbeddedInode().Parent(); !strings.HasPrefix(name, "log.") {
		return 0
	}
	return n.disk.Access(ctx, fsync)
}

// mountData moves this thread (of [onOwnThread]) to a new mount namespace, for a process that it will start, and mounts
// the file system there.
func mountData(dir string, disk *ensembles.Disk) error {
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		return err
	}
	fd, err := mountFUSE(dir)
	if err != nil {
		return err
	}
	options := &fs.Options{MountOptions: fuse.MountOptions{
		DisabledCapabilities: fuse.CAP_PASSTHROUGH, // the kernel would write without asking
		Logger:               log.New(io.Discard, "", 0),
	}}
	files := fs.NewNodeFS(&dataNode{root.(*fs.LoopbackNode), disk}, options)
	server, err := fuse.NewServer(files, fmt.Sprintf("/dev/fd/%d", fd), &options.MountOptions)
	if err != nil {
		return fmt.Errorf("serving the file system of %s: %w", dir, err)
	}
	go server.Serve() // ends with the mount
	return nil
}

// mountFUSE is mountData without a server. No other process may inherit the descriptor: only when its last
// copy is closed does the kernel end the requests of a process that waits for a dead server.
func mountFUSE(dir string) (fd int, err error) {
	fd, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening /dev/fuse: %w (load the kernel's module fuse; a container needs --device /dev/fuse)", err)
	}
	err = os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNS))
	if err == nil { // no mount here appears outside
		err = os.NewSyscallError("mount", unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""))
	}
	if err == nil {
		options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d", fd, unix.S_IFDIR, os.Geteuid(), os.Getegid())
		err = os.NewSyscallError("mount", unix.Mount("zkbench", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options))
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("mounting a FUSE file system: %w", err)
	}
	return fd, nil
}

// CheckDisks returns nil if the disks of members can have faults (a FUSE file system can be mounted), or why not.
func CheckDisks() (err error) {
	onOwnThread(func() {
		var fd int
		if fd, err = mountFUSE(os.TempDir()); err == nil {
			_ = unix.Close(fd) // the mount ends with the thread
		}
	})
	return err
}

// onOwnThread calls do on a new thread that ends afterwards, together with its namespaces.
func onOwnThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the main thread never ends
			defer runtime.UnlockOSThread()
			onOwnThread(do)
			return
		}
		do()
	}()
	<-done
}
