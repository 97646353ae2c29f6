package plot

import (
	"strings"
	"testing"
	"time"
)

// sampleDrill invents the classic drill: 0, 1, 3, 4 and 2 leave in that order.
func sampleDrill() Drill {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	d := Drill{Trial: "succession-election-parent-8", Label: "election/parent", Phase: "lose", End: ms(900)}
	left := map[int]int{0: 300, 1: 400, 3: 500, 4: 600, 2: 700}
	for n := range 8 {
		s := Stand{Client: n, From: ms(10 * n), To: d.End}
		if at, ok := left[n]; ok {
			s.To, s.Left = ms(at), true
			d.Windows = append(d.Windows, Window{Fault: "session.close", Target: "client", Start: ms(at), End: ms(at + 5), Proven: true})
		}
		d.Line = append(d.Line, s)
	}
	d.Terms = []Belief{
		{Client: 0, Start: ms(5), End: ms(300)}, {Client: 1, Start: ms(320), End: ms(400)},
		{Client: 2, Start: ms(412), End: ms(700)}, {Client: 5, Start: ms(695), End: ms(950)},
	}
	return d
}

func TestTerms(t *testing.T) {
	f := Terms(sampleDrill())
	for _, want := range []string{"Leaders in turn: 0, 1, 2, 5.", "Nobody led for 32.0 ms in all."} {
		if !strings.Contains(f.About, want) {
			t.Errorf("%q does not say %q", f.About, want)
		}
	}
	text := legendText(f)
	if !strings.Contains(text, "nobody led: 2 gaps") {
		t.Errorf("the legend says %q, and an overlap is no gap", text)
	}
	if Terms(Drill{Line: sampleDrill().Line}) != nil || Terms(Drill{Terms: sampleDrill().Terms}) != nil {
		t.Error("a drill without leaders, or without a line, is drawn")
	}
}

func legendText(f *Figure) string {
	var parts []string
	for _, e := range f.legend {
		parts = append(parts, e.text)
	}
	return strings.Join(parts, "; ")
}
