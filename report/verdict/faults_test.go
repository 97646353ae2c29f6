package verdict

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestFaults(t *testing.T) {
	judgeStories(t, Faults, []row{
		{"a fault with a proof is well", "fault session.close 1 1 2", Pass, ""},
		{"a fault without a proof makes the trial unknown and is named", "fault session.close 1 1 2 noproof", Unknown, "session.close on client 1 at 1ms (record 1): no proven effect"},
		{"without a fault there is nothing to prove", "acquire 1 5 0 10", Pass, "no fault was injected"},
	})
}

func TestFaults_thatTheRecipeDoesNotAllow(t *testing.T) {
	for guarantee, r := range map[string]history.Record{
		Faults:    &history.Window{Fault: "request.hold", Err: "hung up", Inapplicable: true},
		Completed: &history.TrialFailure{Why: "no queue of nodes", Inapplicable: true},
	} {
		if v := verdictOf(history.Of(history.Header{}, r), guarantee); v.Result != NotJudged || len(v.Reasons) == 0 {
			t.Errorf("%s is %s: %v", guarantee, v.Result, v.Reasons)
		}
	}
}

func TestFaults_provenAndNotHealed(t *testing.T) {
	h := history.Of(history.Header{}, &history.Window{Fault: "member.kill", Proof: "seen", Err: "not healed"})
	if v := verdictOf(h, Faults); v.Result != Unknown || len(v.Records) != 1 {
		t.Errorf("a fault that may still be in force was taken for one that is over: %+v", v)
	}
}
