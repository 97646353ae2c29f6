package chaos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	rtnetlink "github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// tablePrefix marks the packet filter tables that are ours. The full name is
// zkbench/OWNER/NUMBER, so that a later run can tell whose leftover it sees.
const tablePrefix = "zkbench/"

// tableOwned is NFT_TABLE_F_OWNER of linux/netfilter/nf_tables.h.
const tableOwned = 0x2

// filter is a lasting netlink socket to the packet filter of one network
// namespace. Every cut is a table of its own: adding and removing one is a single
// transaction that no other cut notices, and a packet dropped by any is gone.
//
// The tables belong to the socket (NFT_TABLE_F_OWNER, Linux 5.12): when the
// process dies, by SIGKILL too, the kernel closes the socket and removes them, so
// that no partition outlives the one who made it.
type filter struct {
	owner string
	plain bool // the kernel cannot tie tables to a socket

	qdisc *rtnetlink.Handle // the namespace's interfaces and queues

	mu   sync.Mutex
	conn *nftables.Conn
	raw  *netlink.Conn // the socket under conn
	last int
	cuts map[int]*nftables.Table

	slowed bool
}

// openFilter opens the packet filter of the namespace that fd refers to, or of
// the caller's own if fd is 0. Owner names the process that the cuts belong to.
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

// cut drops what the rule says from now on, and returns the cut's number.
func (f *filter) cut(r Rule) (int, error) {
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
	if r.Direction != Out {
		f.addChain(t, r, inbound)
	}
	if r.Direction != In {
		f.addChain(t, r, outbound)
	}
	if err := f.conn.Flush(); err != nil {
		f.conn.DelTable(t)
		return 0, errors.Join(fmt.Errorf("cut: add rules to table %s: %w", t.Name, err), f.conn.Flush())
	}
	f.cuts[f.last] = t
	return f.last, nil
}

// heal removes a cut. Healing twice is not an error.
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

// dropped returns what the cut has dropped so far.
func (f *filter) dropped(id int) (Dropped, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.cuts[id]
	if t == nil {
		return Dropped{}, fmt.Errorf("read counters: cut %d is healed or was never made", id)
	}
	var sum Dropped
	for _, s := range []side{inbound, outbound} {
		rules, err := f.conn.GetRules(t, &nftables.Chain{Name: s.chain})
		if err != nil {
			return Dropped{}, fmt.Errorf("read counters of table %s: %w", t.Name, err)
		}
		for _, r := range rules {
			for _, e := range r.Exprs {
				if c, ok := e.(*expr.Counter); ok {
					sum.Packets += c.Packets
					sum.Bytes += c.Bytes
				}
			}
		}
	}
	return sum, nil
}

// close heals every cut and closes the socket.
func (f *filter) close() error {
	f.mu.Lock()
	ids := make([]int, 0, len(f.cuts))
	for id := range f.cuts {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, f.heal(id))
	}
	if f.slowed {
		errs = append(errs, f.hasten())
	}
	f.qdisc.Close()
	return errors.Join(append(errs, f.conn.CloseLasting())...)
}

// owners returns the owners of all tables of ours in the namespace.
func (f *filter) owners() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, err := f.conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, fmt.Errorf("list packet filter tables: %w", err)
	}
	var out []string
	for _, t := range tables {
		if name, ok := strings.CutPrefix(t.Name, tablePrefix); ok {
			// The owner may hold slashes, the number does not.
			out = append(out, name[:max(0, strings.LastIndexByte(name, '/'))])
		}
	}
	return out, nil
}

// sweep removes the tables of an owner that is dead, and returns how many there
// were. One whose owner lives after all, where its process id means nothing to us,
// is spared by the kernel.
func (f *filter) sweep(owner string) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, err := f.conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return 0, fmt.Errorf("list packet filter tables: %w", err)
	}
	n := 0
	for _, t := range tables {
		if !strings.HasPrefix(t.Name, tablePrefix+owner+"/") {
			continue
		}
		f.conn.DelTable(t)
		err := f.conn.Flush()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("sweep: delete table %s: %w", t.Name, err)
		}
		n++
	}
	return n, nil
}

// newTable adds a table that the kernel removes when our socket closes. The
// library cannot set a table's flags, so the message is written here. Kernels
// before 5.12 know no owners: there the table stays until it is healed or swept.
func (f *filter) newTable(t *nftables.Table) error {
	if !f.plain {
		err := f.sendNewTable(t.Name, tableOwned)
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			return err
		}
		f.plain = true
	}
	return f.sendNewTable(t.Name, 0)
}

func (f *filter) sendNewTable(name string, flags uint32) error {
	attrs, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: []byte(name + "\x00")},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binary.BigEndian.AppendUint32(nil, flags)},
	})
	if err != nil {
		return err
	}
	// An nfgenmsg: family, version, resource id (the subsystem for a batch).
	batch := []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, unix.NFNL_SUBSYS_NFTABLES}
	table := append([]byte{unix.NFPROTO_INET, unix.NFNETLINK_V0, 0, 0}, attrs...)
	_, err = f.raw.SendMessages([]netlink.Message{
		{Header: netlink.Header{Type: unix.NFNL_MSG_BATCH_BEGIN, Flags: netlink.Request}, Data: batch},
		{Header: netlink.Header{
			Type:  unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWTABLE,
			Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl,
		}, Data: table},
		{Header: netlink.Header{Type: unix.NFNL_MSG_BATCH_END, Flags: netlink.Request}, Data: batch},
	})
	if err != nil {
		return err
	}
	_, err = f.raw.Receive() // one acknowledgement, or the error
	return err
}

// side is one of the two places where packets are dropped, and where in a packet
// the other end's address stands there.
type side struct {
	chain  string
	hook   *nftables.ChainHook
	iface  expr.MetaKey
	v4, v6 uint32 // offset of the peer's address in the network header
}

var (
	inbound  = side{"input", nftables.ChainHookInput, expr.MetaKeyIIFNAME, 12, 8}
	outbound = side{"output", nftables.ChainHookOutput, expr.MetaKeyOIFNAME, 16, 24}
)

// addChain queues the chain and the rules of one side.
func (f *filter) addChain(t *nftables.Table, r Rule, s side) {
	accept := nftables.ChainPolicyAccept
	c := f.conn.AddChain(&nftables.Chain{
		Name: s.chain, Table: t, Type: nftables.ChainTypeFilter,
		Hooknum: s.hook, Priority: nftables.ChainPriorityFilter, Policy: &accept,
	})
	add := func(exprs ...expr.Any) {
		f.conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: exprs})
	}
	lo := append([]byte("lo"), make([]byte, 14)...) // interface names are 16 bytes
	add(&expr.Meta{Key: s.iface, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: lo},
		&expr.Verdict{Kind: expr.VerdictAccept})
	for _, a := range r.Except {
		add(append(s.match(a), &expr.Verdict{Kind: expr.VerdictAccept})...)
	}
	drop := append(r.choose(), &expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop})
	if len(r.Peers) == 0 {
		add(drop...)
	}
	for _, a := range r.Peers {
		add(append(s.match(a), drop...)...)
	}
}

// choose picks, of the packets that matched so far, those to drop.
func (r Rule) choose() []expr.Any {
	switch {
	case r.Loss > 0:
		return []expr.Any{
			&expr.Numgen{Register: 1, Modulus: lossSteps, Type: unix.NFT_NG_RANDOM},
			// The number is in the machine's order, and compared byte by byte.
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(r.Loss*lossSteps/100))},
		}
	case r.Rate > 0:
		return []expr.Any{&expr.Limit{Type: expr.LimitTypePktBytes, Rate: r.Rate, Unit: expr.LimitTimeSecond, Burst: r.burst(), Over: true}}
	}
	return nil
}

// burst is how many bytes may pass at once: a twentieth of a second's, and a few
// packets at least, or nothing would pass at all.
func (r Rule) burst() uint32 { return uint32(min(max(r.Rate/20, 8<<10), 1<<20)) }

// match compares the other end's address.
func (s side) match(a netip.Addr) []expr.Any {
	a = a.Unmap()
	proto, offset := byte(unix.NFPROTO_IPV4), s.v4
	if a.Is6() {
		proto, offset = unix.NFPROTO_IPV6, s.v6
	}
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{proto}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: uint32(a.BitLen() / 8)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a.AsSlice()},
	}
}

// inode identifies the namespace that a path leads to now.
func inode(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", fmt.Errorf("stat %s: %w", path, err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}
