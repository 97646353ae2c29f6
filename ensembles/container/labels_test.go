package container

import (
	"reflect"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestLabels_sayAllThatAttachNeeds(t *testing.T) {
	m := state.Member{Name: "zk2", ID: 2, Observer: true, IP: "172.18.0.11", Ports: [3]int{2181, 2888, 3888}, Published: 40001, Container: "c0ffee"}
	made := state.Record{
		ID: "abc", Kind: ensembles.Container, Tick: 3 * time.Second, Keep: true, About: "an image", Host: state.Host(),
		Owner: state.Process{PID: 7, Start: "boot:x/9"}, Created: time.Unix(1e9, 0).UTC(), Members: []state.Member{m},
	}
	written := memberLabels(&made, m)
	summary := container.Summary{ID: "c0ffee", Image: "an image", Labels: written}
	read, err := (&resources{id: "abc", labels: written, containers: []container.Summary{summary}}).record()
	check.OK(t, err)
	if !reflect.DeepEqual(read, made) {
		t.Errorf("read %+v\nmade %+v", read, made)
	}
	for _, damaged := range []string{labelID, labelPort} {
		l := memberLabels(&made, m)
		delete(l, damaged)
		if _, err := parseMember(l, "c0ffee"); err == nil {
			t.Errorf("no error without %s", damaged)
		}
	}
	for _, damaged := range []string{labelTick, labelCreated} {
		l := memberLabels(&made, m)
		delete(l, damaged)
		if _, err := parseRecord(l); err == nil {
			t.Errorf("no error without %s", damaged)
		}
	}
}

func TestFound_isUsedByALivingProcess(t *testing.T) {
	self := state.Self()
	alive := map[string]string{labelOwner: self.String()}
	dead := map[string]string{labelOwner: state.Process{PID: self.PID, Start: "before"}.String()}
	for name, test := range map[string]struct {
		owner, agent map[string]string
		want         bool
	}{
		"its owner lives":                      {alive, dead, true},
		"its owner is dead, its user lives":    {dead, alive, true},
		"its owner and its last user are dead": {dead, dead, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &resources{labels: test.owner, agents: []container.Summary{{Labels: test.agent}}}
			if f.inUse() != test.want {
				t.Errorf("used: %v", f.inUse())
			}
		})
	}
}
