package units

import (
	"fmt"
	"strings"
)

// maxListed is the maximum number of names that Nearest lists: a longer list would hide the error.
const maxListed = 30

// Nearest returns the end of an error message about an unknown name: `; did you mean "x"?` with the
// closest of names, or else a list of names if there are few; otherwise "".
func Nearest(name string, names []string) string {
	switch best := Closest(name, names); {
	case best != "":
		return fmt.Sprintf("; did you mean %q?", best)
	case len(names) > maxListed:
		return ""
	}
	return "; known: " + strings.Join(names, ", ")
}

// edits returns the number of letters to insert, delete, replace or swap with their neighbor that turn
// a into b (optimal string alignment distance).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[i][j] = j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Closest returns the closest of names: the name that differs least, by at most two letters or a third
// of a long name, or else the first that ends in /NAME or .NAME. It returns "" if no name is close.
func Closest(name string, names []string) string {
	letters := len(strings.TrimLeft(name, "-"))
	best, distance := "", 1+max(min(2, letters/2), letters/3)
	for _, n := range names {
		if d := edits(name, n); d < distance {
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
