package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

func (p *partition) commanded() bool {
	return slices.ContainsFunc(p.cuts, func(c *network.Cut) bool { return c.Member.Cutter != nil })
}

// silentOn returns nil if the member does not answer on a connection from before a cut.
func silentOn(ctx context.Context, m *ensembles.Member, conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(silenceOf(m))); err != nil {
		return err
	}
	_, err := io.WriteString(conn, "srvr")
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil {
		return fmt.Errorf("%w: %s still answers srvr on a connection opened before the fault", ErrNoEffect, m.Name)
	}
	return context.Cause(ctx)
}

// changeLimit bounds the wait for members to notice, after some ticks, that commands have isolated them.
const changeLimit = 45 * time.Second

// modes returns the members' modes by name; "" for a member that does not serve or whose dropped
// packets are counted.
func modes(ctx context.Context, list []memberRule) map[string]string {
	was := map[string]string{}
	for _, r := range list {
		if r.Cutter != nil {
			was[r.Name] = ensembles.Status(ctx, &ensembles.Ensemble{Members: []*ensembles.Member{r.Member}})[0].Server.Mode
		}
	}
	return was
}

// awaitModeChange waits until each member's mode differs from was: a follower without a leader and a leader
// without followers stop serving.
func awaitModeChange(ctx context.Context, list []memberRule, was map[string]string) (proof string, err error) {
	err = poll(ctx, changeLimit, func(ctx context.Context) error {
		proof = ""
		now := modes(ctx, list)
		var errs []error
		for _, r := range list {
			name, mode := r.Name, was[r.Name]
			if mode == "" || now[name] == mode {
				errs = append(errs, fmt.Errorf("%w: %s reported mode %q in srvr before the cut, and %q after it", ErrNoEffect, name, mode, now[name]))
			}
			if now[name] == "" {
				now[name] = "out of service"
			}
			proof += fmt.Sprintf("; %s reported mode %s in srvr before the cut, and %s after it", name, mode, now[name])
		}
		return errors.Join(errs...)
	})
	return strings.TrimPrefix(proof, "; "), err
}
