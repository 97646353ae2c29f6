package container

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

const (
	confDir  = "/conf"
	confFile = confDir + "/zoo.cfg"
	idFile   = "/data/myid"
	dataDir  = "/data"
	logDir   = "/datalog"
)

func containerName(ensemble, member string) string { return "zkbench-" + ensemble + "-" + member }

func (p *ensemble) runMember(ctx context.Context, m state.Member) error {
	first := ensembles.Version{From: p.About}
	if len(p.versions) > 0 {
		first.Name = p.versions[0].Name
	}
	_, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: p.request(m, first),
		Started:          true,
	})
	if err != nil {
		return fmt.Errorf("starting %s from the image %s: %w", m.Name, p.About, err)
	}
	return nil
}

// request returns the container of a member, of the official image or the image of package image.
func (p *ensemble) request(m state.Member, v ensembles.Version) testcontainers.ContainerRequest {
	port := network.MustParsePort(strconv.Itoa(setup.ClientPort) + "/tcp")
	// testcontainers publishes every port of the image unless a port is named. If clients dial the
	// containers' own addresses, the published port is unused, and Docker may choose its number.
	published := network.PortBinding{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(m.Published)}
	r := testcontainers.ContainerRequest{
		Image:          v.From,
		Name:           containerName(p.ID, m.Name),
		Labels:         labels(p.Record),
		Networks:       []string{p.network},
		NetworkAliases: map[string][]string{p.network: {m.Name}},
		ExposedPorts:   []string{port.String()},
		Env: map[string]string{
			"ZK_SERVER_HEAP":  "512", // MB, as a limit
			"SERVER_JVMFLAGS": strings.Join(append(setup.Flags(p.Record), "-XX:+UseSerialGC"), " "),
			"JMXDISABLE":      "true", // unused, and slows the start down
		},
		Files: p.files(m),
		HostConfigModifier: func(c *dockercontainer.HostConfig) {
			c.PortBindings = network.PortMap{port: {published}}
		},
		EndpointSettingsModifier: func(settings map[string]*network.EndpointSettings) {
			for _, s := range settings {
				s.IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: netip.MustParseAddr(m.IP)}
			}
		},
	}
	r.Labels[labelMember] = m.Name
	if v.Name != "" {
		r.Labels[labelVersion] = v.Name
	}
	return r
}

func (p *ensemble) files(m state.Member) []testcontainers.ContainerFile {
	files := map[string]string{confFile: p.zooCfg(m), idFile: strconv.Itoa(m.ID) + "\n"}
	for name, text := range p.secured.Files {
		files[path.Join(confDir, name)] = string(text)
	}
	var out []testcontainers.ContainerFile
	for path, text := range files {
		out = append(out, testcontainers.ContainerFile{Reader: strings.NewReader(text), ContainerFilePath: path, FileMode: 0o644})
	}
	return out
}

func (p *ensemble) zooCfg(m state.Member) string {
	lines := []string{"dataDir=" + dataDir, "dataLogDir=" + logDir,
		"preAllocSize=1024"} // KiB by which a log file grows: Docker copies whole files, one for each start
	return setup.ZooCfg(p.Record, m, true, append(lines, setup.SecureLines(p.Record, m, confDir)...)...)
}

// The labels of the containers and networks that zkbench creates. [Sweep] needs them: the record of an
// ensemble may be lost.
const (
	labelOurs     = "zkbench"
	labelEnsemble = "zkbench.ensemble" // the ensemble's ID
	labelOwner    = "zkbench.owner"    // PID:START of the process that created it
	labelHost     = "zkbench.host"     // where that process ID is valid
	labelKeep     = "zkbench.keep"     // "true": persistent
	labelCreated  = "zkbench.created"  // RFC 3339
	labelMember   = "zkbench.member"   // a member's name; on its container only
	labelVersion  = "zkbench.version"  // the version that it runs, if members are upgraded
)

func labels(r *state.Record) map[string]string {
	return map[string]string{
		labelOurs:     "1",
		labelEnsemble: r.ID,
		labelOwner:    r.Owner.String(),
		labelHost:     state.Host(),
		labelKeep:     strconv.FormatBool(r.Keep),
		labelCreated:  r.Created.Format(time.RFC3339),
	}
}
