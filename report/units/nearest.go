package units

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns `; did you mean "x"?` for the closest of names, or what there is
// to choose from: to be put behind an error about a name that nobody knows.
func Nearest(name string, names []string) string {
	if best := Closest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; there is " + strings.Join(names, ", ")
}

// Closest returns the closest of names; "" where none is close: none is another name but for
// two letters, or a third of a long one, and none ends in /NAME or .NAME.
func Closest(name string, names []string) string {
	best, distance := "", 1+max(min(2, len(name)/2), len(name)/3)
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < distance {
			best, distance = n, d
		}
	}
	for _, n := range names {
		if best == "" && name != "" && (strings.HasSuffix(n, "/"+name) || strings.HasSuffix(n, "."+name)) {
			return n
		}
	}
	return best
}
