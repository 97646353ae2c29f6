package chaos

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	rtnetlink "github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// tablePrefix begins the names of our packet filter tables: zkbench/OWNER/NUMBER, so that a later
// run knows the owner.
const tablePrefix = "zkbench/"

// tableOwned is NFT_TABLE_F_OWNER of linux/netfilter/nf_tables.h.
const tableOwned = 0x2

// filter is a netlink socket to the packet filter of one network namespace. Every cut is a table of
// its own: adding and removing one is a transaction that does not affect other cuts, and a packet
// that any cut drops is dropped.
//
// The tables belong to the socket (NFT_TABLE_F_OWNER, Linux 5.12): when the process ends, also by
// SIGKILL, the kernel closes the socket and removes them, so that no partition outlives the process
// that made it.
type filter struct {
	owner string
	plain bool // the kernel cannot tie tables to a socket

	qdisc *rtnetlink.Handle // the namespace's interfaces and queues

	mu   sync.Mutex
	conn *nftables.Conn
	raw  *netlink.Conn // the socket under conn
	last int
	cuts map[int]*nftables.Table

	delayed bool
}

// openFilter opens the packet filter of the namespace of fd, or of the caller's own if fd is 0.
// owner names the process that the cuts belong to.
func openFilter(fd int, owner string) (*filter, error) {
	f := &filter{owner: owner, cuts: map[int]*nftables.Table{}}
	keep := func(c *netlink.Conn) error { f.raw = c; return nil }
	conn, err := nftables.New(nftables.WithNetNSFd(fd), nftables.AsLasting(), nftables.WithSockOptions(keep))
	if err != nil {
		return nil, fmt.Errorf("open the packet filter: %w (needs CAP_NET_ADMIN, and CAP_SYS_ADMIN for another namespace)", err)
	}
	f.conn = conn
	if fd == 0 {
		f.qdisc, err = rtnetlink.NewHandle(unix.NETLINK_ROUTE)
	} else {
		f.qdisc, err = rtnetlink.NewHandleAt(netns.NsHandle(fd), unix.NETLINK_ROUTE)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the network's interfaces: %w", err), conn.CloseLasting())
	}
	return f, nil
}

// cut drops packets by the rule from now on, and returns the cut's number.
func (f *filter) cut(r packetRule) (int, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	t := &nftables.Table{Family: nftables.TableFamilyINet, Name: fmt.Sprintf("%s%s/%d", tablePrefix, f.owner, f.last)}
	if err := f.newTable(t); err != nil {
		return 0, fmt.Errorf("cut: add table %s: %w", t.Name, err)
	}
	if r.Direction != outOnly {
		f.addChain(t, r, inbound)
	}
	if r.Direction != inOnly {
		f.addChain(t, r, outbound)
	}
	if err := f.conn.Flush(); err != nil {
		f.conn.DelTable(t)
		return 0, errors.Join(fmt.Errorf("cut: add rules to table %s: %w", t.Name, err), f.conn.Flush())
	}
	f.cuts[f.last] = t
	return f.last, nil
}

// heal removes a cut. It may be called twice.
func (f *filter) heal(id int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.cuts[id]
	if t == nil {
		return nil
	}
	f.conn.DelTable(t)
	if err := f.conn.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("heal: delete table %s: %w", t.Name, err)
	}
	delete(f.cuts, id)
	return nil
}

// dropped returns the number of packets that the cut has dropped.
func (f *filter) dropped(id int) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.cuts[id]
	if t == nil {
		return 0, fmt.Errorf("read counters: cut %d is healed or was never made", id)
	}
	var sum uint64
	for _, s := range []side{inbound, outbound} {
		rules, err := f.conn.GetRules(t, &nftables.Chain{Name: s.chain})
		if err != nil {
			return 0, fmt.Errorf("read counters of table %s: %w", t.Name, err)
		}
		for _, r := range rules {
			for _, e := range r.Exprs {
				if c, ok := e.(*expr.Counter); ok {
					sum += c.Packets
				}
			}
		}
	}
	return sum, nil
}

func (f *filter) close() error {
	f.mu.Lock()
	ids := slices.Collect(maps.Keys(f.cuts))
	f.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, f.heal(id))
	}
	if f.delayed {
		errs = append(errs, f.removeDelay())
	}
	f.qdisc.Close()
	return errors.Join(append(errs, f.conn.CloseLasting())...)
}

// inode identifies the namespace that a path refers to.
func inode(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", fmt.Errorf("stat %s: %w", path, err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}
