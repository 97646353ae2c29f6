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

	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Where the image expects the member's files, and keeps its data.
const (
	confFile = "/conf/zoo.cfg"
	idFile   = "/data/myid"
	dataDir  = "/data"
	logDir   = "/datalog"
)

func (p *ensemble) runMember(ctx context.Context, m *state.Member) error {
	made, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: p.request(*m),
		Started:          true,
	})
	if made != nil {
		m.Container = made.GetContainerID()
	}
	if err != nil {
		return fmt.Errorf("starting %s from the image %s: %w", m.Name, p.About, err)
	}
	return nil
}

func (p *ensemble) request(m state.Member) testcontainers.ContainerRequest {
	port := network.MustParsePort(strconv.Itoa(setup.ClientPort) + "/tcp")
	// testcontainers publishes every port of the image unless one is named. Where
	// containers are dialled at their own addresses nobody uses it, so Docker may choose.
	published := network.PortBinding{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(m.Published)}
	return testcontainers.ContainerRequest{
		Image:          p.About,
		Name:           p.network + "-" + m.Name,
		Labels:         memberLabels(p.Record, m),
		Networks:       []string{p.network},
		NetworkAliases: map[string][]string{p.network: {m.Name}},
		ExposedPorts:   []string{port.String()},
		Env: map[string]string{
			"ZK_SERVER_HEAP":  "512", // MB, as a limit
			"SERVER_JVMFLAGS": "-XX:+UseSerialGC",
			"JMXDISABLE":      "true", // nobody asks, and it makes the start slower
		},
		Files: []testcontainers.ContainerFile{
			{Reader: strings.NewReader(p.zooCfg()), ContainerFilePath: confFile, FileMode: 0o644},
			{Reader: strings.NewReader(strconv.Itoa(m.ID) + "\n"), ContainerFilePath: idFile, FileMode: 0o644},
		},
		HostConfigModifier: func(c *dockercontainer.HostConfig) {
			c.PortBindings = network.PortMap{port: {published}}
		},
		EndpointSettingsModifier: func(settings map[string]*network.EndpointSettings) {
			for _, s := range settings {
				s.IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: netip.MustParseAddr(m.IP)}
			}
		},
	}
}

func (p *ensemble) zooCfg() string {
	return setup.ZooCfg(p.Record, true, "dataDir="+dataDir, "dataLogDir="+logDir,
		"preAllocSize=16384") // KiB of transaction log at a time: the default would fill small disks
}
