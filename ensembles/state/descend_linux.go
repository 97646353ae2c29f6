package state

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/mdlayher/netlink"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of orphaned descendants, so that [Descendants] finds the daemons
// of drivers.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// descendants returns the IDs of all processes below pid, the youngest first. It does not
// use the kernel's lists of children, which can miss a child while another exits.
func descendants(pid int) (all []int) {
	processes, _ := procfs.AllProcs()
	children := map[int][]procfs.ProcStat{}
	for _, p := range processes {
		if stat, err := p.Stat(); err == nil {
			children[stat.PPID] = append(children[stat.PPID], stat)
		}
	}
	var found []procfs.ProcStat
	for below := []int{pid}; len(below) > 0; below = below[1:] {
		for _, stat := range children[below[0]] {
			found = append(found, stat)
			below = append(below, stat.PID)
		}
	}
	slices.SortFunc(found, func(a, b procfs.ProcStat) int { return cmp.Compare(b.Starttime, a.Starttime) })
	for _, stat := range found {
		all = append(all, stat.PID)
	}
	return all
}

// Descendants returns the living descendants of this process, the youngest first.
func Descendants() (all []Process) {
	for _, pid := range descendants(os.Getpid()) {
		if p, err := Find(pid); err == nil && p.Alive() {
			all = append(all, p)
		}
	}
	return all
}

// peers are the processes that have connected, the most recent first: clients reconnect often.
var peers struct {
	sync.Mutex
	all []Process
}

const peersKept = 64

// FromHere reports whether the other end of a loopback connection belongs to this process or a
// descendant. known is false if this cannot be determined, for example because the other end is closed.
func FromHere(c net.Conn) (ours, known bool) {
	inode, err := socketInode(c.RemoteAddr(), c.LocalAddr())
	if err != nil || inode == 0 {
		return false, false
	}
	want := fmt.Sprintf("socket:[%d]", inode)
	peers.Lock()
	tried := slices.Clone(peers.all)
	peers.Unlock()
	for _, p := range tried {
		if hasOpen(p.PID, want) && p.Alive() {
			remember(p)
			return true, true
		}
	}
	for _, pid := range append(descendants(os.Getpid()), os.Getpid()) {
		if slices.ContainsFunc(tried, func(p Process) bool { return p.PID == pid && p.Alive() }) {
			continue
		}
		if p, err := Find(pid); err == nil && hasOpen(pid, want) {
			remember(p)
			return true, true
		}
	}
	return false, true
}

// socketInode returns the inode of the TCP socket with these addresses; 0 if its process has closed it.
// It queries the kernel for this socket only: listing all sockets takes milliseconds. See sock_diag(7).
func socketInode(local, remote net.Addr) (uint32, error) {
	l, isTCP := local.(*net.TCPAddr)
	r, too := remote.(*net.TCPAddr)
	if !isTCP || !too {
		return 0, fmt.Errorf("%v is not a TCP address", local)
	}
	family, here, there := byte(unix.AF_INET), []byte(l.IP.To4()), []byte(r.IP.To4())
	if here == nil || there == nil {
		family, here, there = unix.AF_INET6, l.IP.To16(), r.IP.To16()
	}
	const addressBytes = 16
	const none = 0xffffffff // no restriction of the socket's state, no cookie
	q := binary.NativeEndian.AppendUint32([]byte{family, unix.IPPROTO_TCP, 0, 0}, none)
	q = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(q, uint16(l.Port)), uint16(r.Port))
	for _, ip := range [][]byte{here, there} {
		q = append(append(q, ip...), make([]byte, addressBytes-len(ip))...)
	}
	for _, word := range []uint32{0, none, none} { // any interface
		q = binary.NativeEndian.AppendUint32(q, word)
	}
	c, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	answers, err := c.Execute(netlink.Message{Header: netlink.Header{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: netlink.Request}, Data: q})
	if err != nil {
		return 0, err
	}
	const inodeAt = 68 // the offset in the answer
	for _, a := range answers {
		if len(a.Data) >= inodeAt+4 {
			return binary.NativeEndian.Uint32(a.Data[inodeAt:]), nil
		}
	}
	return 0, errors.New("the kernel did not describe the socket")
}

func remember(p Process) {
	peers.Lock()
	defer peers.Unlock()
	peers.all = slices.DeleteFunc(peers.all, func(o Process) bool { return o.PID == p.PID })
	peers.all = slices.Insert(peers.all, 0, p)
	peers.all = peers.all[:min(len(peers.all), peersKept)]
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
