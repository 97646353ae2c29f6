package scenarios

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// Whose client is on another member is not hit when one is killed, and the others do not
// wait for it.
func TestJoint_hitsWhoIsOnTheMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	j := stage.NewSharedFault(&spec.MemberFault{Fault: "member.kill"}, spec.AuditDowntime, "one:1", 2)
	if err := j.AwaitOver(ctx, "other:1", func() {}); err == nil || !strings.Contains(err.Error(), "the client's member (other:1) is not the killed member (one:1)") {
		t.Errorf("got %v", err)
	}
	hit := make(chan error, 1)
	go func() { hit <- j.AwaitOver(ctx, "one:1", func() {}) }()
	select {
	case <-j.Ready:
	case <-time.After(10 * time.Second):
		t.Fatal("the member is not killed, though all have come")
	}
	close(j.Down)
	close(j.Up)
	if err := <-hit; err != nil {
		t.Error(err)
	}
}

// A library that tries the members in another order comes to the one that is to be killed; a
// client that cannot is not kept out.
func TestJoint_leadsToTheMember(t *testing.T) {
	j, c := stage.NewSharedFault(&spec.MemberFault{Fault: "member.kill"}, spec.AuditDowntime, "one:1", 1), wire.New(func() time.Duration { return 0 }).Client(0)
	var reached []string
	for _, addr := range []string{"two:1", "one:1", "two:1", "three:1"} {
		lead := j.DialTargetFirst(c, func(_, addr string, _ time.Duration) (net.Conn, error) { // one a connection, as listeners do
			reached = append(reached, addr)
			return nil, nil
		})
		_, _ = lead("tcp", addr, 0)
	}
	if !slices.Equal(reached, []string{"one:1", "two:1"}) {
		t.Errorf("it came to %s", reached)
	}
}
