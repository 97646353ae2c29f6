package audit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// A line without progress gets more time if the fault may still be the reason: after an acquire of unknown outcome, or
// after several that failed.
func TestHasFailingClient(t *testing.T) {
	clients := []*stage.Client{{Number: 0}, {Number: 1}}
	done := make(chan struct{})
	close(done)
	failed, lost := errors.New("refused"), fmt.Errorf("create: %w", recipes.ErrConnectionLost)
	for _, row := range []struct {
		name string
		errs [2][]error // of the attempts of each client
		want bool
	}{
		{"no attempt", [2][]error{}, false},
		{"grants", [2][]error{{nil, nil, nil}, {nil}}, false},
		{"one attempt of unknown outcome", [2][]error{{nil}, {lost}}, true},
		{"two failures", [2][]error{{failed, failed}, {failed, failed}}, false},
		{"three failures of one client", [2][]error{{failed, nil, failed, failed}, nil}, true},
	} {
		p := &episodeRun{st: &stage.Stage{Clients: clients}}
		for i, errs := range row.errs {
			for _, err := range errs {
				p.begun = append(p.begun, &stage.Attempt{Client: clients[i], Done: done, Err: err})
			}
			p.begun = append(p.begun, &stage.Attempt{Client: clients[i], Done: make(chan struct{}), Err: lost}) // has not returned
		}
		if got := p.hasFailingClient(); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
