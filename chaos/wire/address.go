package wire

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
)

// Addresses are the addresses at which clients in other processes reach the servers, on a tap whose listeners can
// move. Each server has an address on loopback, the same for all clients, who differ in the port. Move gives it
// another. All methods are safe for concurrent use.
type Addresses struct {
	tap     *Tap
	servers []string
	Hosts   string  // file with the servers' names; "" if clients know the first addresses. Read only
	base    string  // its first lines: localhost and this machine
	probe   *client // counts the connections of zkbench itself, which belong to no client

	mu    sync.Mutex
	moves map[string]int // by server
}

// NewAddresses returns the addresses of servers on this tap. Call it before the first Listen. Clients know the
// servers by names if hosts is not empty: it is a file that NewAddresses creates, and which their processes must
// read in place of /etc/hosts, also after a move. Otherwise they know the first addresses for ever.
func (t *Tap) NewAddresses(servers []string, hosts string) (*Addresses, error) {
	base, _ := os.ReadFile("/etc/hosts") // may not exist
	a := &Addresses{tap: t, servers: servers, Hosts: hosts, base: string(base) + "\n", moves: map[string]int{}, probe: newClient(t, -1)}
	t.addresses = a
	for _, server := range servers {
		if _, err := a.probe.Listen(server, nil); err != nil {
			return nil, err
		}
	}
	return a, a.writeHosts()
}

// ip returns the address of a server after that many moves. Its second number keeps runs on one machine apart: a
// listener keeps its port when it moves.
func (a *Addresses) ip(server string, moves int) net.IP {
	return net.IPv4(127, byte(1+os.Getpid()%254), byte(1+slices.Index(a.servers, server)), byte(1+moves%254))
}

// name returns a host name. The domain test is reserved (RFC 6761), so it has no name servers.
func (a *Addresses) name(server string) string {
	return fmt.Sprintf("zk%d.zkbench.test", 1+slices.Index(a.servers, server))
}

// writeHosts writes the names in place: a process may have the file mounted over /etc/hosts. The length stays
// the same, so that no reader sees the file without a name. The caller holds mu.
func (a *Addresses) writeHosts() error {
	if a.Hosts == "" {
		return nil
	}
	lines := a.base
	for _, server := range a.servers {
		lines += fmt.Sprintf("%-15s %s\n", a.ip(server, a.moves[server]), a.name(server))
	}
	f, err := os.OpenFile(a.Hosts, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(lines), 0)
	return errors.Join(err, f.Close())
}

// CheckMove returns an error if no client could connect to any server after a move of this one.
func (a *Addresses) CheckMove(server string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	stays := func(other string) bool { return other != server && a.moves[other] == 0 }
	if a.Hosts == "" && !slices.ContainsFunc(a.servers, stays) {
		return errors.New("clients know only the first addresses, and all other servers have moved: no client could connect")
	}
	return nil
}

// Move moves a server's listeners to another address, and renews its name. It closes their connections. It returns
// the addresses, host:port, before and after, of a listener for zkbench itself. After an error some listeners may
// have moved.
func (a *Addresses) Move(server string) (old, now string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.probe.ctx.Err() != nil {
		return "", "", ErrClosed
	}
	addr := func() string { return a.probe.listeners[server].Addr().String() }
	old = addr()
	a.moves[server]++
	var errs []error
	for _, c := range append(a.tap.all(), a.probe) {
		errs = append(errs, c.move(server, a.ip(server, a.moves[server])))
	}
	return old, addr(), errors.Join(append(errs, a.writeHosts())...)
}

// move replaces the client's listener for the server, if there is one, by a listener on the same port at ip.
func (c *client) move(server string, ip net.IP) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.listeners[server]
	if old == nil {
		return nil
	}
	l, err := c.open(server, &net.TCPAddr{IP: ip, Port: old.port()})
	if err == nil {
		l.between = old.between
		old.end()
		l.all.Go(old.all.Wait)
	}
	return err
}
