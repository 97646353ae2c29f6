package state

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of orphaned descendants: a daemon that a driver starts stays
// visible.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// descendants returns the IDs of all processes below pid, the youngest of each parent first.
func descendants(pid int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, field := range slices.Backward(strings.Fields(string(text))) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// Descendants returns the processes below this one.
func Descendants() (all []Process) {
	for _, pid := range descendants(os.Getpid()) {
		if p, err := Find(pid); err == nil && p.Alive() {
			all = append(all, p)
		}
	}
	return all
}

// lastPeer is the process of the last accepted connection, which probably makes the next too.
var lastPeer atomic.Int64

// FromHere reports whether the other end of a loopback connection belongs to this process or a
// descendant. known is false if the kernel does not tell.
func FromHere(c net.Conn) (ours, known bool) {
	socket, err := netlink.SocketGet(c.RemoteAddr(), c.LocalAddr())
	if err != nil {
		return false, false
	}
	want := fmt.Sprintf("socket:[%d]", socket.INode)
	last := int(lastPeer.Load())
	candidates := append([]int{os.Getpid()}, descendants(os.Getpid())...)
	if i := slices.Index(candidates, last); i > 0 {
		candidates[0], candidates[i] = candidates[i], candidates[0]
	}
	for _, pid := range candidates {
		if hasOpen(pid, want) {
			lastPeer.Store(int64(pid))
			return true, true
		}
	}
	return false, true
}

// hasOpen reports whether a process has a file open, from its links in /proc. New files usually
// have the highest numbers.
func hasOpen(pid int, file string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	names, _ := f.Readdirnames(-1)
	f.Close()
	for _, name := range slices.Backward(names) {
		if target, err := os.Readlink(dir + "/" + name); err == nil && target == file {
			return true
		}
	}
	return false
}
