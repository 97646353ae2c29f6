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

// dataNode is a file or folder of a member's data folder as the member sees it if its disk can have faults: in
// a FUSE file system that zkbench serves from the same folder. It is mounted over the folder in a mount namespace of
// the member's process, so it ends with the process, also if zkbench is killed, and zkbench does not see it.
type dataNode struct {
	*fs.LoopbackNode
	disk *ensembles.Disk
}

func (n *dataNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &dataNode{child.(*fs.LoopbackNode), n.disk}
}

func (n *dataNode) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	if name, _ := n.EmbeddedInode().Parent(); strings.HasPrefix(name, "log.") {
		if errno := n.disk.Sync(ctx); errno != 0 {
			return errno
		}
	}
	return f.(fs.FileFsyncer).Fsync(ctx, flags)
}

// mountData moves this thread (of [onOwnThread]) to a new mount namespace, for a process that it will start, and
// mounts the file system there.
func mountData(dir string, disk *ensembles.Disk) error {
	// No other process may inherit fd: the requests of a process to a dead server end when its last copy is closed.
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/fuse: %w (load the kernel's module fuse; a container needs --device /dev/fuse)", err)
	}
	err = os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNS))
	if err == nil { // no mount here appears outside
		err = os.NewSyscallError("mount", unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""))
	}
	if err == nil {
		text := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d", fd, unix.S_IFDIR, os.Geteuid(), os.Getegid())
		err = os.NewSyscallError("mount", unix.Mount("zkbench", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, text))
	}
	if err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("mounting a FUSE file system: %w", err)
	}
	options := &fs.Options{MountOptions: fuse.MountOptions{Logger: log.New(io.Discard, "", 0)}}
	root := &dataNode{&fs.LoopbackNode{RootData: &fs.LoopbackRoot{Path: dir}}, disk}
	server, err := fuse.NewServer(fs.NewNodeFS(root, options), fmt.Sprintf("/dev/fd/%d", fd), &options.MountOptions)
	if err != nil {
		return fmt.Errorf("serving a FUSE file system: %w", err)
	}
	go server.Serve() // ends with the mount
	return nil
}

// CheckDisks returns nil if the disks of members can have faults, or why not.
func CheckDisks() (err error) {
	<-onOwnThread(func() { err = mountData(os.TempDir(), new(ensembles.Disk)) })
	return err
}

// onOwnThread calls do on a new thread that ends afterwards, together with its namespaces, and then closes done.
func onOwnThread(do func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the main thread never ends
			defer runtime.UnlockOSThread()
			<-onOwnThread(do)
			return
		}
		do()
	}()
	return ended
}
