package view

import (
	"testing"

	"github.com/zkbench/zkbench/report"
)

func TestSize_saysWhoVotes(t *testing.T) {
	for _, row := range []struct {
		e    report.Ensemble
		want string
	}{
		{report.Ensemble{Members: 1}, "1 member"},
		{report.Ensemble{Members: 3, Observers: []string{"zk4"}}, "3 members and 1 observer"},
		{report.Ensemble{Members: 5, Observers: []string{"zk6", "zk7"}}, "5 members and 2 observers"},
	} {
		if got := size(row.e); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}
