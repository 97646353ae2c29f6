package container

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
)

// The ports of every member, each at an address of its own.
const (
	clientPort   = 2181
	quorumPort   = 2888
	electionPort = 3888
)

// Where the image expects the member's files, and keeps its data.
const (
	confFile = "/conf/zoo.cfg"
	idFile   = "/data/myid"
)

// runMember creates the member's container and starts it.
func (p *plan) runMember(ctx context.Context, m *member) error {
	made, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: p.request(*m),
		Started:          true,
	})
	if made != nil {
		m.container = made.GetContainerID()
	}
	if err != nil {
		return fmt.Errorf("starting %s from the image %s: %w", m.name, p.image, err)
	}
	return nil
}

// request says how the member's container is to be.
func (p *plan) request(m member) testcontainers.ContainerRequest {
	port := network.MustParsePort(strconv.Itoa(clientPort) + "/tcp")
	// testcontainers publishes every port of the image unless it is told of one. Where
	// containers are dialled at their own addresses nobody uses it, so Docker may choose.
	published := network.PortBinding{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(m.published)}
	return testcontainers.ContainerRequest{
		Image:          p.image,
		Name:           p.network + "-" + m.name,
		Labels:         p.memberLabels(m),
		Networks:       []string{p.network},
		NetworkAliases: map[string][]string{p.network: {m.name}},
		ExposedPorts:   []string{port.String()},
		Env: map[string]string{
			"ZK_SERVER_HEAP":  "512", // MB, as a limit
			"SERVER_JVMFLAGS": "-XX:+UseSerialGC",
			"JMXDISABLE":      "true", // nobody asks, and it makes the start slower
		},
		Files: []testcontainers.ContainerFile{
			{Reader: strings.NewReader(p.zooCfg()), ContainerFilePath: confFile, FileMode: 0o644},
			{Reader: strings.NewReader(strconv.Itoa(m.id) + "\n"), ContainerFilePath: idFile, FileMode: 0o644},
		},
		HostConfigModifier: func(c *dockercontainer.HostConfig) {
			c.PortBindings = network.PortMap{port: {published}}
		},
		EndpointSettingsModifier: func(settings map[string]*network.EndpointSettings) {
			for _, s := range settings {
				s.IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: netip.MustParseAddr(m.ip)}
			}
		},
	}
}

// zooCfg is the content of every member's zoo.cfg. Peers stand in it by address:
// a member that starts before its peers' names resolve starts badly.
func (p *plan) zooCfg() string {
	var b strings.Builder
	line := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	line("tickTime", p.tick.Milliseconds())
	line("initLimit", 10)
	line("syncLimit", 5)
	line("dataDir", "/data")
	line("dataLogDir", "/datalog")
	line("preAllocSize", 16384) // KiB of transaction log at a time: the default would fill small disks
	line("maxClientCnxns", 0)
	line("standaloneEnabled", false)
	line("quorumListenOnAllIPs", true)
	line("admin.enableServer", false)
	line("4lw.commands.whitelist", "*")
	for _, m := range p.members {
		line(fmt.Sprintf("server.%d", m.id), fmt.Sprintf("%s:%d:%d;%d", m.ip, quorumPort, electionPort, clientPort))
	}
	return b.String()
}
