package scenarios

import (
	"context"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
)

// parseWatches parses a reply to wchp: a path per line, and below it, indented, the sessions that
// watch it. It returns the number of watches.
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

// watches returns the watched paths of each session, as the members report them (wchp). ok is false
// if a member does not report all: wchp omits watches on children, which the member's count of
// watches (mntr) includes.
func (m members) watches(ctx context.Context) (bySession map[int64][]string, ok bool) {
	if !m.ours() && !m.ensemble.Watches {
		return nil, false
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
