package verdict

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestFaults(t *testing.T) {
	judgeStories(t, Faults, []row{
		{"a fault with a proof is well", "fault session.close 1 1 2", Pass, ""},
		{"a fault without a proof makes the trial unknown and is named", "fault session.close 1 1 2 noproof", Unknown, "session.close on client 1 at 1ms (record 1): no proven effect"},
		{"without a fault there is nothing to prove", "acquire 1 5 0 10", Pass, "no fault was injected"},
	})
}

func TestJudge_ofWhatTheRecipeDoesNotAllow(t *testing.T) {
	for guarantee, r := range map[string]history.Record{
		Faults: &history.Window{Fault: "request.hold", Err: "hung up", Inapplicable: true},
		Played: &history.Unplayed{Why: "no queue of nodes", Inapplicable: true},
	} {
		for _, v := range Judge(history.Of(history.Header{}, r)) {
			if v.Guarantee == guarantee && (v.Result != NotJudged || len(v.Reasons) == 0) {
				t.Errorf("%s is %s: %v", guarantee, v.Result, v.Reasons)
			}
		}
	}
}

func TestFaults_provenAndNotHealed(t *testing.T) {
	h := history.Of(history.Header{}, &history.Window{Fault: "member.kill", Proof: "seen", Err: "not healed"})
	for _, v := range Judge(h) {
		if v.Guarantee == Faults && v.Result == Unknown && len(v.Records) == 1 {
			return
		}
	}
	t.Error("a fault that may still be in force was taken for one that is over")
}

func TestSpans(t *testing.T) {
	s := union(Spans{{50, 60}, {10, 20}, {15, 30}, {30, 35}})
	if !slices.Equal(s, Spans{{10, 35}, {50, 60}}) {
		t.Fatalf("union is %v", s)
	}
	for _, c := range []struct {
		from, to time.Duration
		touches  bool
		outside  Spans
	}{
		{0, 9, false, Spans{{0, 9}}},
		{0, 10, true, Spans{{0, 10}}},
		{12, 20, true, nil},
		{0, 100, true, Spans{{0, 10}, {35, 50}, {60, 100}}},
		{40, 45, false, Spans{{40, 45}}},
		{61, 70, false, Spans{{61, 70}}},
	} {
		if got := s.Touches(c.from, c.to); got != c.touches {
			t.Errorf("touches(%d, %d) is %v", c.from, c.to, got)
		}
		if got := s.outside(c.from, c.to); !slices.Equal(got, c.outside) {
			t.Errorf("outside(%d, %d) is %v, want %v", c.from, c.to, got, c.outside)
		}
	}
}

func TestPatience_comesFromTheSessionTimeout(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       history.History
		seconds float64
	}{
		{"the negotiated timeout counts", history.History{Timeout: 4 * time.Second, Header: history.Header{Cell: history.Cell{Params: map[string]string{"session_timeout": "9s"}}}}, 8},
		{"the requested one stands in", history.History{Header: history.Header{Cell: history.Cell{Params: map[string]string{"session_timeout": "10s"}}}}, 17},
		{"without either there is none", history.History{}, 0},
	} {
		if got := MaxDetection(&c.h).Seconds(); got != c.seconds {
			t.Errorf("%s: %v s, want %v", c.name, got, c.seconds)
		}
	}
}

func TestAftermath_ofAFaultThatWasNeverHealedLastsForEver(t *testing.T) {
	h := history.Of(history.Header{}, &history.Window{Start: 5, End: 0})
	if s := FaultWindows(h, time.Hour); len(s) != 1 || s[0].to != forever {
		t.Errorf("got %v", s)
	}
}
