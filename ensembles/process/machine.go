//go:build linux

package process

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/logtail"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/ensembles/state"
)

const poll = 5 * time.Millisecond

type machine struct {
	record *state.Record
	member state.Member
	disk   *ensembles.Disk // nil if its disk cannot have faults

	mu      sync.Mutex
	command []string // java and the arguments that all members share
	process state.Process
	reaped  chan struct{} // closed after this process has waited for its child; nil if the JVM is not its child
}

func ensembleArg(id string) string { return MarkPrefix + id }

func memberArg(id, name string) string { return "-Dzkbench.member=" + id + "/" + name }

func (m *machine) withLock(doing string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := do(); err != nil {
		return fmt.Errorf("%s %s: %w", doing, m.member.Name, err)
	}
	return nil
}

func (m *machine) Start(ctx context.Context) error {
	return m.withLock("starting", func() error {
		if m.process.Alive() {
			return fmt.Errorf("it is already running (process %d)", m.process.PID)
		}
		if err := m.checkPorts(); err != nil {
			return err
		}
		if err := m.launch(); err != nil {
			return err
		}
		if err := m.await(ctx, func() bool { return listens(m.process.PID, m.member.Ports[0]) }); err != nil {
			return fmt.Errorf("it does not listen on %s: %w%s", m.member.Addr(), err, m.lastLines())
		}
		if !m.process.Alive() {
			return fmt.Errorf("its process ended at once%s", m.lastLines())
		}
		return nil
	})
}

func (m *machine) await(ctx context.Context, done func() bool) error {
	return wait.Until(ctx, poll, func() bool { return done() || !m.process.Alive() })
}

func (m *machine) launch() error {
	dir := memberDir(m.record, m.member)
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the JVM has its own copy
	cmd := exec.Command(m.command[0], m.command[1:]...)
	cmd.Args = append(cmd.Args, ensembleArg(m.record.ID), memberArg(m.record.ID, m.member.Name),
		"-Djava.io.tmpdir="+dir, "-XX:ErrorFile="+filepath.Join(dir, "crash.log"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, cfgFile))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	// A new session keeps Ctrl-C from the JVM: zkbench stops its processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !m.record.Keep {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started, reaped := make(chan error, 1), make(chan struct{})
	run := func() {
		var err error
		if m.disk != nil {
			err = mountData(filepath.Join(dir, "data"), m.disk)
		}
		if err == nil {
			err = inNetNS(m.member.NetNS, cmd.Start)
		}
		if err == nil {
			m.process, err = state.Find(cmd.Process.Pid) // a child's ID stays valid until Wait
		}
		started <- err
		if cmd.Process != nil {
			_ = cmd.Wait() // the JVM's log shows how it ended; callers wait for reaped
		}
		close(reaped)
	}
	// The kernel kills the JVM when the thread that started it ends, so the thread waits for it.
	onOwnThread(run)
	m.reaped = reaped
	return <-started
}

// Stop resumes a paused member, since a stopped process does not handle SIGTERM.
func (m *machine) Stop(ctx context.Context) error {
	return m.signalAndWait(ctx, "stopping", syscall.SIGTERM, syscall.SIGCONT)
}

func (m *machine) Kill(ctx context.Context) error {
	return m.signalAndWait(ctx, "killing", syscall.SIGKILL)
}

func (m *machine) signalAndWait(ctx context.Context, doing string, signals ...os.Signal) error {
	return m.withLock(doing, func() error {
		for _, s := range signals {
			if err := m.process.Signal(s); err != nil {
				return err
			}
		}
		return m.awaitEnd(ctx)
	})
}

func (m *machine) Pause(ctx context.Context) error {
	return m.setStopped(ctx, "pausing", syscall.SIGSTOP, true)
}

func (m *machine) Resume(ctx context.Context) error {
	return m.setStopped(ctx, "resuming", syscall.SIGCONT, false)
}

func (m *machine) setStopped(ctx context.Context, doing string, s os.Signal, stopped bool) error {
	return m.withLock(doing, func() error {
		if !m.process.Alive() {
			return errors.New("it is not running")
		}
		if err := m.process.Signal(s); err != nil {
			return err
		}
		if err := m.await(ctx, func() bool { return m.process.Stopped() == stopped }); err != nil {
			return err
		}
		if !m.process.Alive() {
			return fmt.Errorf("its process has ended%s", m.lastLines())
		}
		return nil
	})
}

// Running reports whether the process is alive, paused or not.
func (m *machine) Running(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process.Alive(), nil
}

func (m *machine) awaitEnd(ctx context.Context) (err error) {
	if m.reaped != nil {
		select {
		case <-m.reaped:
		case <-ctx.Done():
			err = ctx.Err()
		}
	} else {
		err = m.await(ctx, func() bool { return false })
	}
	if err != nil {
		return fmt.Errorf("process %d is still running: %w", m.process.PID, err)
	}
	return nil
}

// checkPorts returns an error if a port of the member is in use; the JVM would only log it. In its own
// namespace a member has all ports.
func (m *machine) checkPorts() error {
	if m.member.NetNS != "" {
		return nil
	}
	for _, port := range m.member.Ports {
		l, err := net.Listen("tcp", net.JoinHostPort(m.member.IP, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("port %d is taken: %w (end the process that listens there: ss -ltnp 'sport = :%d')", port, err, port)
		}
		l.Close()
	}
	return nil
}

const recentLog = 1 << 20 // bytes

func (m *machine) RecentLog(context.Context) ([]byte, error) {
	log, err := os.Open(filepath.Join(memberDir(m.record, m.member), logFile))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil && info.Size() > recentLog {
		if _, err := log.Seek(-recentLog, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(log)
}

func (m *machine) lastLines() string { return logtail.Of(m.RecentLog(context.Background())) }

// inNetNS calls do on a thread in the network namespace at path; an empty path is the current namespace.
func inNetNS(path string, do func() error) error {
	if path == "" {
		return do()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		return fmt.Errorf("finding zkbench's network namespace: %w", err)
	}
	defer home.Close()
	there, err := netns.GetFromPath(path)
	if err == nil {
		defer there.Close()
		err = netns.Set(there)
	}
	if err != nil {
		return fmt.Errorf("entering network namespace %s: %w", path, err)
	}
	err = do()
	if back := netns.Set(home); back != nil {
		// Later code on this thread would run in the wrong network.
		panic(fmt.Sprintf("leaving network namespace %s: %v", path, back))
	}
	return err
}

func probe(ctx context.Context, r *state.Record) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, m := range r.Members {
		to := m.Addr() // not open on any member yet
		var listener net.Listener
		err := inNetNS(m.NetNS, func() (err error) {
			listener, err = net.Listen("tcp4", to)
			return err
		})
		if err != nil {
			return fmt.Errorf("probing the network of %s: %w", m.Name, err)
		}
		defer listener.Close()
		if err := dialIn(ctx, "", to); err != nil {
			return fmt.Errorf("this host cannot reach %s (does a firewall drop the packets?): %w", m.Name, err)
		}
		for _, from := range r.Members {
			if err := dialIn(ctx, from.NetNS, to); err != nil {
				return fmt.Errorf("%s cannot reach %s: %w", from.Name, m.Name, err)
			}
		}
	}
	return nil
}

func dialIn(ctx context.Context, path, address string) error {
	return inNetNS(path, func() error {
		// With one address and no name, the socket is created on this thread, in its namespace.
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// testNet is reserved for network benchmarks (RFC 2544): private networks and Docker do not use it.
var testNet = netip.MustParsePrefix("198.18.0.0/15")

// subnetBits is the length of a subnet's prefix, with room for the host and 29 members.
const subnetBits = 27

// takeSubnet gives the link the subnet's first address, and removes the address if another route leads
// to the subnet: this check afterwards prevents two ensembles from taking the same subnet. It returns
// an invalid prefix if the subnet is taken.
func takeSubnet(link netlink.Link, subnet netip.Prefix) (netip.Prefix, error) {
	address := netlinkAddr(nth(subnet, 1))
	if err := netlink.AddrAdd(link, address); err != nil {
		return netip.Prefix{}, fmt.Errorf("assigning link %s the address %v: %w", link.Attrs().Name, address, err)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("listing routes: %w", err)
	}
	for _, route := range routes {
		if route.LinkIndex == link.Attrs().Index || route.Dst == nil {
			continue
		}
		if bits, _ := route.Dst.Mask.Size(); bits == 0 {
			continue
		}
		if route.Dst.Contains(address.IP) || subnet.Contains(netip.AddrFrom4([4]byte(route.Dst.IP.To4()))) {
			return netip.Prefix{}, netlink.AddrDel(link, address)
		}
	}
	return subnet, nil
}

func randomSubnet() netip.Prefix {
	n := rand.IntN(1 << (subnetBits - testNet.Bits()))
	addr := testNet.Addr().As4()
	binary.BigEndian.PutUint32(addr[:], binary.BigEndian.Uint32(addr[:])|uint32(n)<<(32-subnetBits))
	return netip.PrefixFrom(netip.AddrFrom4(addr), subnetBits)
}

func nth(subnet netip.Prefix, n int) netip.Prefix {
	b := subnet.Addr().As4()
	b[3] += byte(n)
	return netip.PrefixFrom(netip.AddrFrom4(b), subnet.Bits())
}

func netlinkAddr(p netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}}
}
