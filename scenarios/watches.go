package scenarios

import (
	"context"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
)

// parseWatches reads a reply to wchp: a path on a line of its own, and below it,
// indented, the sessions that watch it.
func parseWatches(reply string, bySession map[int64][]string) {
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
		}
	}
}

// watches returns by session what it watches, by the members' own word (wchp). ok is
// false where a member does not say.
func (m members) watches(ctx context.Context) (bySession map[int64][]string, ok bool) {
	bySession = map[int64][]string{}
	for _, member := range m.ensemble.Members {
		reply, err := ensembles.FourLetter(ctx, member.Addr, "wchp")
		if err != nil {
			return nil, false
		}
		parseWatches(reply, bySession)
	}
	return bySession, true
}
