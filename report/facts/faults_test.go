package facts

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestSpans(t *testing.T) {
	s := Union(Spans{{50, 60}, {10, 20}, {15, 30}, {30, 35}})
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
		if got := s.Gaps(c.from, c.to); !slices.Equal(got, c.outside) {
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
	if s := FaultWindows(h, time.Hour); len(s) != 1 || s[0].To != Forever {
		t.Errorf("got %v", s)
	}
}
