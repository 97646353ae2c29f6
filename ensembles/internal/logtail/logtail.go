// Package logtail returns the end of a server's log for an error.
package logtail

import (
	"fmt"
	"slices"
	"strings"
)

const maxLines = 15

// Of returns Lines of a log, or one line with the error of reading the log.
func Of(log []byte, err error) string {
	if err != nil {
		return fmt.Sprintf("\n    | (its log is not available: %v)", err)
	}
	return Lines(log)
}

// Lines returns the last lines of a log, indented, without stack frames and without log lines about
// zkbench's own queries.
func Lines(log []byte) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(log)), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "\tat ") || strings.HasPrefix(line, "\t... ") ||
			strings.Contains(line, "Processing srvr command")
	})
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-maxLines):] {
		text.WriteString("\n    | " + line)
	}
	return text.String()
}
