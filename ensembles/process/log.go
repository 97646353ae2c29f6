//go:build linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensembles/state"
)

// shown is how many lines of a member's log an error shows.
const shown = 6

// lastLines is the end of a member's log, to be put behind an error.
func lastLines(r *state.Record, m state.Member) string {
	name := filepath.Join(memberDir(r, m), logFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Sprintf("\n%s has no log: %v", m.Name, err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), isFrame)
	lines = lines[max(0, len(lines)-shown):]
	var b strings.Builder
	fmt.Fprintf(&b, "\nthe last lines of %s's log:", m.Name)
	for _, line := range lines {
		fmt.Fprintf(&b, "\n  %s", line)
	}
	return b.String()
}

// isFrame tells whether a line is a frame of a stack trace: what went wrong
// stands in the lines between them.
func isFrame(line string) bool {
	return strings.HasPrefix(line, "\tat ") || strings.HasPrefix(line, "\t... ")
}
