package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	rtnetlink "github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"github.com/zkbench/zkbench/ensembles/state"
	"golang.org/x/sys/unix"
)

const tableOwned = 0x2 // NFT_TABLE_F_OWNER of linux/netfilter/nf_tables.h

// filter is a netlink socket to the packet filter of one network namespace. Every cut is a table of
// its own: adding and removing a cut is a transaction that does not affect other cuts.
//
// The tables belong to the socket (NFT_TABLE_F_OWNER, Linux 5.12): when the process ends, also by
// SIGKILL, the kernel removes them, so that no partition outlives the process that made it.
type filter struct {
	qdisc *rtnetlink.Handle // the namespace's interfaces and queues

	mu      sync.Mutex
	conn    *nftables.Conn
	raw     *netlink.Conn // the socket under conn
	last    int
	cuts    map[int]*nftables.Table
	delayed bool
}

// openFilter opens the packet filter of the namespace of fd, or of the caller's own if fd is 0.
func openFilter(fd int) (*filter, error) {
	f := &filter{cuts: map[int]*nftables.Table{}}
	keep := func(c *netlink.Conn) error { f.raw = c; return nil }
	conn, err := nftables.New(nftables.WithNetNSFd(fd), nftables.AsLasting(), nftables.WithSockOptions(keep))
	if err != nil {
		return nil, fmt.Errorf("open the packet filter: %w (requires CAP_NET_ADMIN and, for another network namespace, CAP_SYS_ADMIN)", err)
	}
	f.conn = conn
	ns := netns.None() // the caller's own
	if fd != 0 {
		ns = netns.NsHandle(fd)
	}
	if f.qdisc, err = rtnetlink.NewHandleAt(ns, unix.NETLINK_ROUTE); err != nil {
		return nil, errors.Join(fmt.Errorf("open the network's interfaces: %w", err), conn.CloseLasting())
	}
	return f, nil
}

func (f *filter) do(o order) (a answer) {
	var err error
	switch o.Do {
	case "cut":
		a.Cut, err = f.cut(o.Rule)
	case "heal":
		err = f.heal(o.Cut)
	case "dropped":
		a.Dropped, err = f.dropped(o.Cut)
	case "delay":
		err = f.delay(o.Delay)
		a.Skipped = errors.Is(err, ErrSkipped)
	case "undelay":
		err = f.removeDelay()
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

func (f *filter) cut(r Rule) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	t := &nftables.Table{Family: nftables.TableFamilyINet, Name: fmt.Sprintf("zkbench/%s/%d", state.Self(), f.last)}
	if err := f.newTable(t.Name); err != nil {
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

func (f *filter) dropped(id int) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.cuts[id]
	if t == nil {
		return 0, fmt.Errorf("read counters: cut %d does not exist: it was healed or never made", id)
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
	cuts := maps.Clone(f.cuts)
	f.mu.Unlock()
	var errs []error
	for id := range cuts {
		errs = append(errs, f.heal(id))
	}
	if f.delayed {
		errs = append(errs, f.removeDelay())
	}
	f.qdisc.Close()
	return errors.Join(append(errs, f.conn.CloseLasting())...)
}

func inode(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", fmt.Errorf("stat %s: %w", path, err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}

// side is a hook where packets are dropped, and the position of the other end's address in a packet.
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

func (f *filter) addChain(t *nftables.Table, r Rule, s side) {
	accept := nftables.ChainPolicyAccept
	c := f.conn.AddChain(&nftables.Chain{
		Name: s.chain, Table: t, Type: nftables.ChainTypeFilter,
		Hooknum: s.hook, Priority: nftables.ChainPriorityFilter, Policy: &accept,
	})
	add := func(exprs ...expr.Any) { f.conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: exprs}) }
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

// choose returns the expressions that select the packets to drop among the matching packets.
func (r Rule) choose() []expr.Any {
	if r.Loss == 0 {
		return nil
	}
	return []expr.Any{
		&expr.Numgen{Register: 1, Modulus: lossSteps, Type: unix.NFT_NG_RANDOM},
		// The number is in the machine's byte order, and compared byte by byte.
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(r.Loss*lossSteps/100))},
	}
}

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

// newTable adds a table that the kernel removes when f's socket closes. The library cannot set a
// table's flags, so the message is written here.
func (f *filter) newTable(name string) error {
	attrs, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: []byte(name + "\x00")},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binary.BigEndian.AppendUint32(nil, tableOwned)},
	})
	if err != nil {
		return err
	}
	// An nfgenmsg: family, version, resource ID (the subsystem for a batch).
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
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("cutting networks requires Linux 5.12 or later: %w", err)
	}
	return err
}

// delayHandle marks the queues that zkbench adds, which have no names: "zk" in ASCII.
var delayHandle = rtnetlink.MakeHandle(0x7a6b, 0)

// delay delays the packets that the namespace sends, except on loopback. Unlike cuts, the kernel
// does not remove a queue when this process is killed; the next run that opens the namespace does.
func (f *filter) delay(delay time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delayed {
		return errors.New("the member's packets are already delayed")
	}
	links, err := f.links()
	if err != nil {
		return err
	}
	f.delayed = true
	for _, l := range links {
		q := rtnetlink.NewNetem(
			rtnetlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: delayHandle, Parent: rtnetlink.HANDLE_ROOT},
			rtnetlink.NetemQdiscAttrs{Latency: uint32(delay.Microseconds()), Limit: 100_000})
		if err = f.qdisc.QdiscReplace(q); err != nil {
			break
		}
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		err = fmt.Errorf("%w: this kernel has no network emulator (modprobe sch_netem, or use a kernel built with CONFIG_NET_SCH_NETEM): %w", ErrSkipped, err)
	}
	if err != nil {
		return errors.Join(err, f.unqueue(links))
	}
	return nil
}

// removeDelay removes the delay. It may be called twice.
func (f *filter) removeDelay() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	links, err := f.links()
	if err != nil {
		return err
	}
	return f.unqueue(links)
}

// unqueue removes the queues with delayHandle and no others. The caller holds f.mu.
func (f *filter) unqueue(links []rtnetlink.Link) error {
	var errs []error
	for _, l := range links {
		queues, err := f.qdisc.QdiscList(l)
		errs = append(errs, err)
		for _, q := range queues {
			if q.Attrs().Handle == delayHandle {
				errs = append(errs, f.qdisc.QdiscDel(q))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the delay: %w", err)
	}
	f.delayed = false
	return nil
}

func (f *filter) links() ([]rtnetlink.Link, error) {
	all, err := f.qdisc.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the network's interfaces: %w", err)
	}
	return slices.DeleteFunc(all, func(l rtnetlink.Link) bool { return l.Attrs().Name == "lo" }), nil
}

// probeInNamespace tests everything in a private network namespace, which the kernel removes afterwards.
func probeInNamespace() Abilities {
	found := make(chan Abilities)
	go func() {
		// The thread is never unlocked and ends with this goroutine, so that nothing else runs in the namespace.
		runtime.LockOSThread()
		found <- probeHere()
	}()
	return <-found
}

func probeHere() Abilities {
	ns, err := netns.New()
	if err != nil {
		return noNetworks(fmt.Errorf("cannot create a network namespace: %w (run as root)", err))
	}
	defer ns.Close()
	f, err := openFilter(int(ns))
	if err != nil {
		return Abilities{Filter: err, Delay: err}
	}
	defer f.close()
	a := Abilities{Filter: probeFilter(f)}
	veth := &rtnetlink.Veth{LinkAttrs: rtnetlink.LinkAttrs{Name: "zkbprobe0"}, PeerName: "zkbprobe1"}
	if err := f.qdisc.LinkAdd(veth); err != nil {
		a.Namespaces = fmt.Errorf("cannot create a link in a network namespace: %w", err)
		a.Delay = a.Namespaces
		return a
	}
	if a.Delay = f.delay(time.Millisecond); a.Delay == nil {
		a.Delay = f.removeDelay()
	}
	return a
}

func probeFilter(f *filter) error {
	for _, r := range []Rule{{}, {Peers: []netip.Addr{netip.MustParseAddr("198.51.100.1")}}, {Loss: 50}} {
		id, err := f.cut(r)
		if err != nil {
			return fmt.Errorf("%w (load the kernel module: modprobe nf_tables)", err)
		}
		if err := f.heal(id); err != nil {
			return err
		}
	}
	return nil
}
