package container

import (
	"strconv"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/zkbench/zkbench/ensembles/state"
)

func TestLabels_sayAllThatAttachNeeds(t *testing.T) {
	made := &plan{id: "abc", tick: 3 * time.Second, keep: true, owner: state.Process{PID: 7, Start: "boot:x/9"}, created: time.Unix(1e9, 0)}
	m := member{name: "zk2", id: 2, ip: "172.18.0.11", published: 40001, container: "c0ffee"}

	labels := made.memberLabels(m)
	read, err := (&found{id: labels[labelEnsemble], labels: labels}).plan()
	if err != nil {
		t.Fatal(err)
	}
	if read.id != made.id || read.tick != made.tick || !read.keep || read.owner != made.owner || !read.created.Equal(made.created) {
		t.Errorf("read %+v, made %+v", read, made)
	}
	if got, err := parseMember(labels, "c0ffee"); err != nil || got != m {
		t.Errorf("read %+v, %v; made %+v", got, err, m)
	}
	for _, damaged := range []string{labelID, labelPort} {
		labels := made.memberLabels(m)
		delete(labels, damaged)
		if _, err := parseMember(labels, "c0ffee"); err == nil {
			t.Errorf("no error without %s", damaged)
		}
	}
}

func TestOwnerAlive(t *testing.T) {
	self := state.Self()
	// 4194304 is one above the highest process id that Linux gives.
	for name, test := range map[string]struct {
		owner, host string
		want        bool
	}{
		"this process lives":                                   {strconv.Itoa(self.PID) + ":" + self.Start, thisHost(), true},
		"a process with our id from before is dead":            {strconv.Itoa(self.PID) + ":before", thisHost(), false},
		"an id that is not in use is dead":                     {"4194304:1", thisHost(), false},
		"a label that is no owner is nobody":                   {"somebody", thisHost(), false},
		"of a process on another machine nobody can tell":      {"4194304:1", "elsewhere/pid:[1]", true},
		"a label without a host is of this machine":            {"4194304:1", "", false},
		"process 0 and negative ones are never taken for ours": {"-1:", thisHost(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownerAlive(map[string]string{labelOwner: test.owner, labelHost: test.host}); got != test.want {
				t.Errorf("alive: %v", got)
			}
		})
	}
}

// An ensemble whose owner is dead may have a living user.
func TestFound_used(t *testing.T) {
	self := state.Self()
	alive := map[string]string{labelOwner: strconv.Itoa(self.PID) + ":" + self.Start}
	dead := map[string]string{labelOwner: strconv.Itoa(self.PID) + ":before"}
	for name, test := range map[string]struct {
		owner, agent map[string]string
		want         bool
	}{
		"its owner lives":                      {alive, dead, true},
		"its owner is dead, its user lives":    {dead, alive, true},
		"its owner and its last user are dead": {dead, dead, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &found{labels: test.owner, agents: []container.Summary{{Labels: test.agent}}}
			if f.used() != test.want {
				t.Errorf("used: %v", f.used())
			}
		})
	}
}
