package chaos

import (
	"errors"
	"fmt"
	"time"

	rtnetlink "github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// delayHandle marks our queues, "zk" in ASCII: a queue has no name.
var delayHandle = rtnetlink.MakeHandle(0x7a6b, 0)

// delay delays the packets that the namespace sends, except on loopback. Unlike cuts, the kernel
// does not remove a queue when this process is killed; the next run that opens the namespace does.
func (f *filter) delay(delay, jitter time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delayed {
		return errors.New("the member's packets are delayed already")
	}
	links, err := f.links()
	if err != nil {
		return err
	}
	f.delayed = true
	for _, l := range links {
		q := rtnetlink.NewNetem(
			rtnetlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: delayHandle, Parent: rtnetlink.HANDLE_ROOT},
			rtnetlink.NetemQdiscAttrs{Latency: uint32(delay.Microseconds()), Jitter: uint32(jitter.Microseconds()), Limit: 100_000})
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

// unqueue removes our queues and no others. The caller holds f.mu.
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

// links returns the namespace's interfaces without loopback.
func (f *filter) links() ([]rtnetlink.Link, error) {
	all, err := f.qdisc.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the network's interfaces: %w", err)
	}
	var out []rtnetlink.Link
	for _, l := range all {
		if l.Attrs().Name != "lo" {
			out = append(out, l)
		}
	}
	return out, nil
}
