package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensembles/state"
)

// ZooCfg returns the content of m's zoo.cfg: the lines that all kinds of ensemble share, the given
// lines, and the members. everywhere makes the member listen on all addresses; on loopback that would
// expose it to the network.
//
// Peers are listed by address, since a member that starts before its peers' names resolve starts badly.
//
// Thousands of clients may reconnect at once. Beyond the port's backlog, by default 50, the kernel
// drops a client's first packet, and the client waits a second or more.
func ZooCfg(r *state.Record, m state.Member, everywhere bool, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tickTime=%d\n", r.Tick.Milliseconds())
	b.WriteString(`initLimit=10
syncLimit=5
maxClientCnxns=0
clientPortListenBacklog=4096
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
`)
	fmt.Fprintf(&b, "quorumListenOnAllIPs=%v\n", everywhere)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	if m.Observer {
		b.WriteString("peerType=observer\n")
	}
	for _, m := range r.Members {
		client := fmt.Sprintf(";%d", m.Ports[0])
		if !everywhere {
			client = fmt.Sprintf(";%s:%d", m.IP, m.Ports[0])
		}
		if slices.Contains(r.Secure, "tls") {
			client = "" // no port without TLS
		}
		role := ""
		if m.Observer {
			role = ":observer"
		}
		fmt.Fprintf(&b, "server.%d=%s:%d:%d%s%s\n", m.ID, m.IP, m.Ports[1], m.Ports[2], role, client)
	}
	return b.String()
}
