package scenarios

import (
	"strconv"
	"strings"
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
