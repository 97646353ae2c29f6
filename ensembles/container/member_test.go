package container

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestZooCfg_namesAllMembers(t *testing.T) {
	p := planned(t, nil, ensembles.Options{Tick: 250 * time.Millisecond})
	check.OK(t, p.assignAddresses(netip.MustParsePrefix("172.30.4.0/24")))
	cfg := p.zooCfg(p.Members[0])
	check.Contains(t, cfg, "tickTime=250\n", "standaloneEnabled=false\n", "4lw.commands.whitelist=*\n",
		"server.1=172.30.4.10:2888:3888;2181\n", "server.3=172.30.4.12:2888:3888;2181\n")
	if strings.Contains(cfg, "server.4") {
		t.Errorf("four members of three:\n%s", cfg)
	}
}
