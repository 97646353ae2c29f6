//go:build linux

package process

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensembles/state"
)

// Files of one member, in the folder DIR/NAME.
const (
	cfgFile = "zoo.cfg"
	logFile = "zookeeper.log"
)

// memberDir is the folder that holds everything of one member.
func memberDir(r *state.Record, m state.Member) string { return filepath.Join(r.Dir, m.Name) }

// addr is where clients reach the member.
func addr(m state.Member) string { return net.JoinHostPort(m.IP, strconv.Itoa(m.Ports[0])) }

// writeConfig makes the folder of a member: zoo.cfg, myid, and an empty data folder.
func writeConfig(r *state.Record, m state.Member) error {
	data := filepath.Join(memberDir(r, m), "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fmt.Errorf("making the data folder of %s: %w", m.Name, err)
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(m.ID)+"\n"), 0o644); err != nil {
		return fmt.Errorf("configuring %s: %w", m.Name, err)
	}
	if err := os.WriteFile(filepath.Join(memberDir(r, m), cfgFile), []byte(zooCfg(r, m)), 0o644); err != nil {
		return fmt.Errorf("configuring %s: %w", m.Name, err)
	}
	return nil
}

// zooCfg is the content of a member's zoo.cfg.
func zooCfg(r *state.Record, m state.Member) string {
	var b strings.Builder
	line := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	line("tickTime", r.Tick.Milliseconds())
	line("initLimit", 10)
	line("syncLimit", 5)
	line("dataDir", filepath.Join(memberDir(r, m), "data"))
	line("maxClientCnxns", 0)
	line("standaloneEnabled", false)
	line("admin.enableServer", false)
	line("4lw.commands.whitelist", "*")
	// On loopback "all addresses" would open the members to the outside.
	line("quorumListenOnAllIPs", m.NetNS != "")
	for _, peer := range r.Members {
		line(fmt.Sprintf("server.%d", peer.ID), fmt.Sprintf("%s:%d:%d;%s:%d",
			peer.IP, peer.Ports[1], peer.Ports[2], peer.IP, peer.Ports[0]))
	}
	return b.String()
}
