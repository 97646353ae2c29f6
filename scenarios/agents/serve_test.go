package agents

import (
	"net"
	"testing"

	"github.com/hashicorp/yamux"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
	"go.uber.org/goleak"
)

// A call that is still in progress when the link ends leaves no trial and no process behind.
func TestServer_startsNothingAfterItsEnd(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	near, far := net.Pipe()
	defer far.Close()
	link, err := yamux.Server(near, linkConfig())
	must(t, err)
	s := &server{link: link, trials: map[string]*servedTrial{}}
	s.end()
	if err := s.Begin(msg.TrialArgs{Trial: "late"}, nil); err == nil || len(s.trials) != 0 {
		t.Errorf("a trial began: %v", err)
	}
	if err := s.Start(msg.StartArgs{Args: []string{"sleep", "600"}, MarkKey: "ZKBENCH_TEST_MARK"}, new(msg.StartReply)); err == nil || len(s.processes) != 0 {
		t.Errorf("a process was started: %v", err)
	}
}
