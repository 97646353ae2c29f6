package container

import (
	"testing"

	"github.com/moby/moby/api/types/container"

	"github.com/zkbench/zkbench/ensembles/state"
)

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
		f := &resources{labels: test.owner, agents: []container.Summary{{Labels: test.agent}}}
		if f.inUse() != test.want {
			t.Errorf("%s: used: %v", name, f.inUse())
		}
	}
}
