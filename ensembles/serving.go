package ensembles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/logtail"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
)

// pollInterval is the interval of status queries. More queries would slow the members' start down; with
// fewer, the end of the start would be noticed late.
const pollInterval = 40 * time.Millisecond

// WaitServing returns when every member serves and one of them leads. The caller's context bounds
// the time. If the context ends, or the process of a member has ended, the error has the members'
// last replies and the ends of their logs.
func WaitServing(ctx context.Context, e *Ensemble) error {
	var last []MemberStatus
	var gone error
	tries := 0
	err := wait.Until(ctx, pollInterval, func() bool {
		status := Status(ctx, e)
		if serving(status) {
			return true
		}
		// Ignore replies that the end of the context has cut short: the network deadline may expire
		// before the context does.
		if end, ok := ctx.Deadline(); last == nil || ctx.Err() == nil && (!ok || time.Now().Before(end)) {
			last = status
		}
		// Querying the process costs more than querying the server.
		if tries++; tries%5 == 0 {
			gone = stopped(ctx, e)
		}
		return gone != nil
	})
	if err = cmp.Or(gone, err); err != nil {
		return noQuorum(ctx, last, err)
	}
	return nil
}

func serving(all []MemberStatus) bool {
	modes := []string{ModeLeader, ModeStandalone, ModeFollower, ModeObserver} // not read-only, which means without a quorum
	for _, s := range all {
		if !s.Serves() || !slices.Contains(modes, s.Server.Mode) {
			return false
		}
	}
	return len(leadersOf(all)) == 1
}

func stopped(ctx context.Context, e *Ensemble) error {
	var names []string
	for _, m := range e.Members {
		if m.Machine == nil {
			continue
		}
		if running, err := m.Machine.Running(ctx); err == nil && !running {
			names = append(names, m.Name)
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("%s: the server process has ended", strings.Join(names, ", "))
}

// noQuorum returns the error of an ensemble that does not serve. It omits details if ctx was canceled.
func noQuorum(ctx context.Context, status []MemberStatus, why error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("waiting for the ensemble to serve requests: %w", why)
	}
	var text strings.Builder
	for _, s := range status {
		if s.Serves() {
			fmt.Fprintf(&text, "\n%s: %s", s.Member.Name, s.Server.Mode)
		} else {
			fmt.Fprintf(&text, "\n%s: %v", s.Member.Name, s.Err)
		}
		text.WriteString(lastLines(ctx, s.Member))
	}
	return fmt.Errorf("the ensemble does not serve requests: %w%s", why, text.String())
}

// lastLines returns the end of a member's log, for an error message. It also works if the context has
// ended.
func lastLines(ctx context.Context, m *Member) string {
	if m.Machine == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	log, err := m.Machine.RecentLog(ctx)
	if err != nil {
		return fmt.Sprintf("\n    | (its log is not available: %v)", err)
	}
	return logtail.Lines(log)
}
