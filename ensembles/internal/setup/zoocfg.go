package setup

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensembles/state"
)

// ZooCfg returns the content of a member's zoo.cfg: what all kinds share, then
// the lines of one kind, then the members. Everywhere says that the member may
// listen on all addresses: on loopback that would open it to the outside.
//
// Peers stand in it by address: a member that starts before its peers' names
// resolve starts badly.
func ZooCfg(r *state.Record, everywhere bool, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tickTime=%d\n", r.Tick.Milliseconds())
	b.WriteString(`initLimit=10
syncLimit=5
maxClientCnxns=0
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
`)
	fmt.Fprintf(&b, "quorumListenOnAllIPs=%v\n", everywhere)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	for _, m := range r.Members {
		client := ""
		if !everywhere {
			client = m.IP + ":"
		}
		fmt.Fprintf(&b, "server.%d=%s:%d:%d;%s%d\n", m.ID, m.IP, m.Ports[1], m.Ports[2], client, m.Ports[0])
	}
	return b.String()
}
