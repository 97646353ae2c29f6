package scenarios

import (
	"context"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
)

// parseWatches reads a reply to wchp: a path on a line of its own, and below it,
// indented, the sessions that watch it. It returns how many watches there are.
func parseWatches(reply string, bySession map[int64][]string) (n int) {
	path := ""
	for line := range strings.Lines(reply) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "/") {
			path = line
			continue
		}
		id, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(line), "0x"), 16, 64)
		if err == nil && path != "" {
			bySession[int64(id)] = append(bySession[int64(id)], path)
			n++
		}
	}
	return n
}

// watches returns by session what it watches, by the members' own word (wchp). ok is
// false where a member does not say all: wchp leaves out the watches on children, which
// the member's count of watches (mntr) has.
func (m members) watches(ctx context.Context) (bySession map[int64][]string, ok bool) {
	if !m.ours() && !m.ensemble.Watches {
		return nil, false // somebody else's members may have very many
	}
	bySession = map[int64][]string{}
	for _, member := range m.ensemble.Members {
		reply, err := ensembles.FourLetter(ctx, member, "wchp")
		if err != nil {
			return nil, false
		}
		named := parseWatches(reply, bySession)
		mntr, err := ensembles.Monitor(ctx, member)
		if there, known := mntr["watch_count"]; err != nil || !known || int(there) != named {
			return nil, false
		}
	}
	return bySession, true
}
