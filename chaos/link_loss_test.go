package chaos

import (
	"strings"
	"testing"
	"time"
)

func TestLinkLoss_losesPacketsThatTCPRepairs(t *testing.T) {
	target := cuttable(t)
	e := inject(t, parse(t, "link.loss", Follower, "percent", "30"), target)
	if !strings.Contains(e.Proof, "30% of the packets") {
		t.Errorf("proof %s", e.Proof)
	}
	// TCP repairs it, so the member still answers.
	within(t, 20*time.Second, "an answer gets through", func() bool {
		return reachable(t.Context(), hit(t, target, e), 2*time.Second)
	})
	heal(t, target, e)
}
