package ensembles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/logtail"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
	"github.com/zkbench/zkbench/report/units"
)

// The modes that a serving member reports.
const (
	ModeLeader     = "leader"
	ModeFollower   = "follower"
	ModeObserver   = "observer"
	ModeStandalone = "standalone"
)

// tryTimeout is the limit of one query to one member. A serving member answers in a millisecond; a
// frozen or isolated member never does.
const tryTimeout = time.Second

// maxReply bounds the reply to a four-letter word; dump with 100,000 sessions stays below it.
const maxReply = 64 << 20

// ErrNotWhitelisted means that a member is up but does not allow the four-letter word.
var ErrNotWhitelisted = errors.New("add the word to 4lw.commands.whitelist in the member's zoo.cfg")

// ErrEmptyReply means that a member closes the connection without a reply, as other implementations do.
var ErrEmptyReply = errors.New("an empty reply")

// FourLetter sends one of ZooKeeper's four-letter words to a member and returns the reply. A member
// that is starting or has no quorum also replies.
func FourLetter(ctx context.Context, m *Member, word string) (string, error) {
	reply, err := exchange(ctx, m, word)
	switch {
	case err != nil:
		return "", fmt.Errorf("querying %s with %s: %w", m.Addr, word, err)
	case len(reply) > maxReply:
		return "", fmt.Errorf("querying %s with %s: the reply is longer than %d bytes", m.Addr, word, maxReply)
	case strings.Contains(reply, "is not executed because it is not in the whitelist"):
		return "", fmt.Errorf("%s does not answer %s: %w", m.Addr, word, ErrNotWhitelisted)
	}
	return reply, nil
}

func exchange(ctx context.Context, m *Member, word string) (string, error) {
	conn, err := m.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var reply []byte
	if _, err = io.WriteString(conn, word); err == nil {
		reply, err = io.ReadAll(io.LimitReader(conn, maxReply+1))
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(reply), err
}

// Server is a member's reply to srvr.
type Server struct {
	Mode        string // one of the Mode constants
	Version     string // "3.8.0"
	Zxid        int64
	Connections int // open client connections, including the query's
}

func parseServer(reply string) (Server, error) {
	var s Server
	for line := range strings.SplitSeq(reply, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		var err error
		switch key {
		case "Zookeeper version":
			s.Version, _, _ = strings.Cut(value, "-")
		case "Mode":
			s.Mode = strings.TrimSpace(value)
		case "Zxid":
			s.Zxid, err = strconv.ParseInt(strings.TrimPrefix(value, "0x"), 16, 64)
		case "Connections":
			s.Connections, err = strconv.Atoi(value)
		}
		if err != nil {
			return Server{}, fmt.Errorf("srvr replied %q: %w", line, err)
		}
	}
	if s.Mode == "" {
		return Server{}, fmt.Errorf("it does not serve requests: %w", quoted(reply))
	}
	return s, nil
}

// quoted returns the first line of an unexpected reply as an error.
func quoted(reply string) error {
	line, _, _ := strings.Cut(strings.TrimSpace(reply), "\n")
	if line == "" {
		return ErrEmptyReply
	}
	return fmt.Errorf("%q", line[:min(len(line), 200)])
}

// parseMonitor parses the reply to mntr. Values that are not numbers (version, state) are omitted.
func parseMonitor(reply string) (map[string]float64, error) {
	counters := make(map[string]float64)
	for line := range strings.SplitSeq(reply, "\n") {
		key, value, _ := strings.Cut(line, "\t")
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			counters[strings.TrimPrefix(key, "zk_")] = n
		}
	}
	if len(counters) == 0 {
		return nil, fmt.Errorf("mntr returned no counters: %w", quoted(reply))
	}
	return counters, nil
}

// QueryCounters returns the numeric values of the member's reply to mntr, by name without the prefix "zk_".
func QueryCounters(ctx context.Context, m *Member) (map[string]float64, error) {
	return ask(ctx, m, "mntr", parseMonitor)
}

type MemberStatus struct {
	Member *Member
	Server Server
	Err    error
}

// Serves reports whether the member serves requests: it has replied to srvr with its mode.
func (s MemberStatus) Serves() bool { return s.Err == nil }

// Status queries all members in parallel, each for at most a second.
func Status(ctx context.Context, e *Ensemble) []MemberStatus {
	all := make([]MemberStatus, len(e.Members))
	var queries sync.WaitGroup
	for i, m := range e.Members {
		queries.Go(func() {
			limit := tryTimeout
			if m.Dial != nil {
				limit *= 3 // a TLS handshake takes longer than the query
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			server, err := Ask(ctx, m)
			all[i] = MemberStatus{Member: m, Server: server, Err: err}
		})
	}
	queries.Wait()
	return all
}

// Ask queries the member for its status. If the member does not serve, the error quotes its reply.
func Ask(ctx context.Context, m *Member) (Server, error) {
	return ask(ctx, m, "srvr", parseServer)
}

func ask[T any](ctx context.Context, m *Member, word string, parse func(reply string) (T, error)) (answer T, err error) {
	reply, err := FourLetter(ctx, m, word)
	if err != nil {
		return answer, err
	}
	if answer, err = parse(reply); err != nil {
		return answer, fmt.Errorf("%s: %w", m.Addr, err)
	}
	return answer, nil
}

// errNoLeader means that no member leads, or that two claim to lead: a leader that was just isolated
// may not have noticed yet.
var errNoLeader = errors.New("no single leader")

// Leader returns the leader. A standalone server leads itself.
func Leader(ctx context.Context, e *Ensemble) (*Member, error) {
	return singleLeader(Status(ctx, e))
}

func singleLeader(all []MemberStatus) (*Member, error) {
	leaders := leadersOf(all)
	if len(leaders) != 1 {
		return nil, fmt.Errorf("%w in the ensemble: %s", errNoLeader, describe(all))
	}
	return leaders[0].Member, nil
}

func leadersOf(all []MemberStatus) (leaders []MemberStatus) {
	for _, s := range all {
		if s.Serves() && (s.Server.Mode == ModeLeader || s.Server.Mode == ModeStandalone) {
			leaders = append(leaders, s)
		}
	}
	return leaders
}

// describe returns one line: "zk1 follower, zk2 leader, zk3 not serving (...)".
func describe(all []MemberStatus) string {
	return strings.Join(units.Names(all, MemberStatus.text), ", ")
}

func (s MemberStatus) text() string {
	if !s.Serves() {
		return fmt.Sprintf("%s not serving (%v)", s.Member.Name, s.Err)
	}
	return s.Member.Name + " " + s.Server.Mode
}

// pollInterval is the interval of status queries. More queries would slow the members' start down; with
// fewer, the end of the start would be noticed late.
const pollInterval = 40 * time.Millisecond

// WaitServing returns when every member serves and one of them leads. The caller's context bounds
// the time. If the context ends, or the process of a member has ended, the error has the members'
// last replies and the ends of their logs.
func WaitServing(ctx context.Context, e *Ensemble) error {
	var last []MemberStatus
	var processErr error
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
			processErr = checkProcesses(ctx, e)
		}
		return processErr != nil
	})
	if err = cmp.Or(processErr, err); err != nil {
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

func checkProcesses(ctx context.Context, e *Ensemble) error {
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
		text.WriteString("\n" + s.text() + lastLines(ctx, s.Member))
	}
	return fmt.Errorf("the ensemble does not serve requests: %w%s", why, text.String())
}

// lastLines returns the end of a member's log, even if the context has ended.
func lastLines(ctx context.Context, m *Member) string {
	if m.Machine == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return logtail.Of(m.Machine.RecentLog(ctx))
}
