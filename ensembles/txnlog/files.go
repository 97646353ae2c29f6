package txnlog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Select returns the names of the logs that can contain entries after a zxid, oldest first. The name of
// a log contains the zxid of its first entry.
func Select(names []string, after int64) []string {
	type log struct {
		name  string
		first int64
	}
	var logs []log
	for _, name := range names {
		digits, isLog := strings.CutPrefix(name, "log.")
		if first, err := strconv.ParseInt(digits, 16, 64); isLog && err == nil {
			logs = append(logs, log{name, first})
		}
	}
	slices.SortFunc(logs, func(a, b log) int { return cmp.Compare(a.first, b.first) })
	var selected []string
	for i, l := range logs {
		if i+1 < len(logs) && logs[i+1].first <= after+1 {
			continue // all requested entries are in later files
		}
		selected = append(selected, l.name)
	}
	return selected
}
