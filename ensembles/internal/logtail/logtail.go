// Package logtail shows the end of a server's log in an error.
package logtail

import (
	"slices"
	"strings"
)

// shown is how many lines an error shows.
const shown = 15

// Lines returns the last lines of a log, each on a line of its own and indented.
// Lines that hide the reason are left out: the frames of a stack trace, and the
// questions that were asked while waiting for the server.
func Lines(log []byte) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(log)), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "\tat ") || strings.HasPrefix(line, "\t... ") ||
			strings.Contains(line, "Processing srvr command")
	})
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-shown):] {
		text.WriteString("\n    | " + line)
	}
	return text.String()
}
