package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// commands change a member's network by its owner's commands. They do not count dropped packets,
// and cannot drop a share of packets or delay them.
type commands struct{ member *ensembles.Member }

func (c commands) do(ctx context.Context, o order) (answer, error) {
	switch o.Do {
	case "cut":
		if o.Rule.Loss > 0 || o.Rule.Rate > 0 {
			return answer{}, fmt.Errorf("%w: commands cut %s off or do not; they lose no share of packets", ErrSkipped, c.member.Name)
		}
		cut := ensembles.Cut{Direction: string(o.Rule.Direction), Peers: o.Rule.Peers, Except: o.Rule.Except}
		if cut.Direction == "" {
			cut.Direction = string(bothWays)
		}
		return answer{}, c.member.Cutter.Isolate(ctx, cut)
	case "heal":
		return answer{}, c.member.Cutter.Heal(ctx)
	}
	return answer{}, fmt.Errorf("%w: no command of %s can do that (%s)", ErrSkipped, c.member.Name, o.Do)
}

// commanded reports whether some cut is made by commands.
func (p *partition) commanded() bool {
	for _, c := range p.cuts {
		if c.member.Cutter != nil {
			return true
		}
	}
	return false
}

// standing is a connection to a member from before a cut. Commands that only block new connections
// do not affect it.
type standing struct {
	member *ensembles.Member
	conn   net.Conn // nil if dropped packets are counted
}

func stand(ctx context.Context, m *ensembles.Member) (s standing, err error) {
	s.member = m
	if m.Cutter == nil {
		return s, nil
	}
	s.conn, err = m.Connect(ctx)
	return s, err
}

// silent returns nil if the member does not answer on the connection.
func (s standing) silent(ctx context.Context) error {
	if err := s.conn.SetDeadline(time.Now().Add(silenceOf(s.member))); err != nil {
		return err
	}
	_, err := io.WriteString(s.conn, "srvr")
	if err == nil {
		_, err = s.conn.Read(make([]byte, 1))
	}
	if err == nil {
		return fmt.Errorf("%w: %s still answers srvr on a connection opened before the fault", ErrNoEffect, s.member.Name)
	}
	return context.Cause(ctx)
}

func (s standing) close() {
	if s.conn != nil {
		s.conn.Close()
	}
}

// changeLimit bounds the wait for members to notice that commands have isolated them: some ticks.
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

// changed waits until each member's mode differs from was: a follower without a leader and a leader
// without followers stop serving.
func changed(ctx context.Context, list []memberRule, was map[string]string) (proof string, err error) {
	err = poll(ctx, changeLimit, func(ctx context.Context) error {
		proof = ""
		now := modes(ctx, list)
		var errs []error
		for _, r := range list {
			name, mode := r.Name, was[r.Name]
			if mode == "" || now[name] == mode {
				errs = append(errs, fmt.Errorf("%w: %s was %q by its srvr before, and is %q after", ErrNoEffect, name, mode, now[name]))
			}
			if now[name] == "" {
				now[name] = "out of service"
			}
			proof += fmt.Sprintf("; %s was %s by its srvr, and then %s", name, mode, now[name])
		}
		return errors.Join(errs...)
	})
	return strings.TrimPrefix(proof, "; "), err
}
