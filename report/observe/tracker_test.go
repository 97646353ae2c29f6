package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
)

var start = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func name(n int) string { return fmt.Sprintf("/locks/a/x-%010d", n) }

func TestTracker_findsHoldsWaitsAndHandoffs(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	tr.Create(name(1), 1, at(0))
	tr.Create(name(2), 2, at(10))
	tr.Create(name(3), 3, at(20))
	tr.Create("/locks/a/config", 3, at(21))       // not sequential
	tr.Create("/other/a/x-0000000009", 3, at(22)) // elsewhere
	tr.Delete(name(1), Released, 1, at(100))      // 2 is first
	tr.Delete(name(3), Released, 3, at(150))      // gives up
	tr.Delete(name(2), Expired, 0, at(400))       // nobody is there
	tr.Create(name(4), 4, at(1400))               //
	tr.Delete(name(4), Released, 9, at(1500))     // an operator
	tr.Create(name(5), 5, at(1500))               // stays
	o := tr.Done(at(2000), "")

	if len(o.Lines) != 1 {
		t.Fatalf("%d lines, want 1: %+v", len(o.Lines), o.Lines)
	}
	l := o.Lines[0]
	if l.Nodes != 5 || l.Handoff != 1 || l.Left != 1 || l.Most != 3 || l.Held.Count != 3 || l.Held.Max != 300*time.Millisecond {
		t.Errorf("line %+v", l)
	}
	if l.Waited.Max != 90*time.Millisecond || l.Vacant.Max != time.Second || l.Vacant.Count != 2 {
		t.Errorf("waited %+v, vacant %+v", l.Waited, l.Vacant)
	}
	wants := []struct {
		end  End
		from int
		to   int
	}{{Released, 0, 100}, {Expired, 100, 400}, {Foreign, 1400, 1500}, {StillPresent, 1500, 2000}}
	for i, want := range wants {
		if h := l.Holds[i]; h.End != want.end || !h.From.Equal(at(want.from)) || !h.To.Equal(at(want.to)) {
			t.Errorf("hold %d is %+v, want %+v", i, h, want)
		}
	}
	if got, want := fmt.Sprint(l.Contenders, l.Step), "[3 2 1 1 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1] 100ms"; got != want {
		t.Errorf("contenders %s, want %s", got, want)
	}
	if len(o.Anomalies) != 2 { // the expiry and the operator's deletion
		t.Errorf("anomalies %+v", o.Anomalies)
	}
	if o.Result() != report.Pass {
		t.Errorf("result %s without limits", o.Result())
	}
	if l.Remaining[0] != "x-0000000005" {
		t.Errorf("remaining %v", l.Remaining)
	}
}

// A long observation has longer steps, each with the most nodes of the steps that it replaces.
func TestTracker_countsContendersInBoundedSteps(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	tr.Create(name(1), 1, at(0))
	tr.Create(name(2), 2, at(60_000))
	tr.Create(name(3), 3, at(60_010))
	tr.Delete(name(3), Released, 3, at(60_020))
	tr.Delete(name(2), Released, 2, at(60_030))
	l := tr.Done(at(250_000), "").Lines[0]
	if l.Step != 400*time.Millisecond || len(l.Contenders) != 625 || l.Contenders[149] != 1 || l.Contenders[150] != 3 || l.Contenders[151] != 1 {
		t.Errorf("step %v, %d steps: %v", l.Step, len(l.Contenders), l.Contenders[148:153])
	}
}

func TestTracker_checksLimits(t *testing.T) {
	for what, limits := range map[string]Limits{
		"hold":       {MaxHold: 299 * time.Millisecond, MaxExpired: -1},
		"wait":       {MaxWait: 289 * time.Millisecond, MaxExpired: -1},
		"contenders": {MaxContenders: 1, MaxExpired: -1},
		"expired":    {},
		"vacant":     {MaxVacant: 99 * time.Millisecond, MaxExpired: -1},
		"none": {MaxHold: 300 * time.Millisecond, MaxWait: 290 * time.Millisecond, MaxVacant: 100 * time.Millisecond, MaxContenders: 2,
			MaxExpired: 1},
	} {
		tr := NewTracker("/", limits)
		tr.Create(name(1), 1, at(0))
		tr.Create(name(2), 2, at(10))
		tr.Delete(name(1), Expired, 0, at(300))
		tr.Delete(name(2), Closed, 2, at(400))
		tr.Create(name(3), 1, at(500))
		tr.Delete(name(3), Released, 1, at(501))
		o := tr.Done(at(600), "")
		if got, want := o.Exceeds(), what != "none"; got != want {
			t.Errorf("%s: exceeds is %v: %+v", what, got, o.Anomalies)
		}
	}
}

// What cannot be determined is unknown, and not a pass.
func TestObservation_isUnknownWhereSomethingIsMissing(t *testing.T) {
	if o := NewTracker("/locks", Limits{}).Done(at(0), ""); o.Result() != report.Unknown {
		t.Errorf("nothing was seen: %s", o.Result())
	}
	tr := NewTracker("/locks", Limits{})
	tr.Create(name(1), 1, at(0))
	tr.AddIncompleteReason("a gap")
	if o := tr.Done(at(10), ""); o.Result() != report.Unknown {
		t.Errorf("an incomplete observation: %s", o.Result())
	}
}

func TestSequential_splitsNames(t *testing.T) {
	for _, want := range []struct {
		name, prefix string
		number       int32
	}{
		{"x-0000000001", "x-", 1},
		{"_c_51deb4a3-1b1c-4ba5-a2ce-2e2a2a3a5c5d-lock-0000000012", "_c_51deb4a3-1b1c-4ba5-a2ce-2e2a2a3a5c5d-lock-", 12},
		{"120000000003", "12", 3},
		{"7e905f756e874fad916765e331200034" + "0000000012", "7e905f756e874fad916765e331200034", 12},
		{"0000000007", "", 7},
		{"x-2147483647", "x-", 2147483647},
		{"x--2147483648", "x-", -2147483648},
		{"-000000001", "", -1},
	} {
		prefix, number, ok := Sequential(want.name)
		if !ok || prefix != want.prefix || number != want.number {
			t.Errorf("%s: %q %d %v", want.name, prefix, number, ok)
		}
	}
	for about, name := range map[string]string{
		"nine digits": "x-000000001", "milliseconds": "host-1732838400123", "seconds": "host-1732838400", "a number that no counter reaches": "x-2147483648",
		"a UUID": "0f8fad5b-d9cb-469f-a165-708677289501", "a UUID with a zero ten digits before its end": "0f8fad5b-d9cb-469f-a165-7f0677289501",
		"its hexadecimal form": "0f8fad5bd9cb469fa165ef0677289501", "a random number": "99999991234567890",
	} {
		if prefix, number, ok := Sequential(name); ok {
			t.Errorf("%s: %s is taken for %q and %d", about, name, prefix, number)
		}
	}
}

// After the highest number of a counter, the lowest follows.
func TestTracker_ordersNumbersThatOverflow(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	for i, name := range []string{"x-2147483647", "x--2147483648", "x--2147483647"} {
		tr.Create("/locks/a/"+name, int64(i), at(10*i))
	}
	tr.Delete("/locks/a/x-2147483647", Released, 0, at(100))
	tr.Delete("/locks/a/x--2147483648", Released, 1, at(200))
	tr.Delete("/locks/a/x--2147483647", Released, 2, at(300))
	l := tr.Done(at(300), "").Lines[0]
	if l.Handoff != 2 || l.Held.Count != 3 || l.Held.Max != 100*time.Millisecond {
		t.Errorf("%d hand-offs, held %+v; want 2, and 3 holds of 100 ms", l.Handoff, l.Held)
	}
}

// The histogram rounds up, to two digits.
func TestTracker_noQuantileIsAboveTheMaximum(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	tr.Create(name(1), 1, at(0))
	tr.Delete(name(1), Released, 1, at(7710))
	o := tr.Done(at(8000), "")
	if h := o.Lines[0].Held; h.P50 != h.Max || h.Max != 7710*time.Millisecond {
		t.Errorf("held %+v, want 7.71 s", h)
	}
}

func TestObservation_lines_showAMedianOfZero(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	tr.Create(name(1), 1, at(0))
	tr.Delete(name(1), Released, 1, at(100))
	tr.Create(name(2), 2, at(200))
	tr.Create(name(3), 3, at(210))
	tr.Delete(name(2), Released, 2, at(300))
	table := tr.Done(at(400), "").lines()
	var got []string
	for i := 5; i <= 7; i++ {
		got = append(got, table.Columns[i].Head+" "+table.Rows[0].Cells[i])
	}
	if want := []string{"waited p50 0 s", "p99 ", "max 90.0 ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTracker_reportsEachNodeThatAnotherSessionDeletes(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	tr.Create(name(1), 1, at(0))
	tr.Create(name(2), 2, at(10))
	tr.Delete(name(2), Released, 9, at(20))
	tr.Delete(name(1), Released, 9, at(30))
	var got []string
	for _, a := range tr.Done(at(40), "").Anomalies {
		got = append(got, a.Text)
	}
	want := []string{"session 0x9 deleted x-0000000002, which belongs to session 0x2 and waited", "session 0x9 deleted x-0000000001, which belongs to session 0x1 and was first in line"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTracker_checksTheTimeAfterTheLastHold(t *testing.T) {
	for _, removed := range []bool{false, true} {
		tr := NewTracker("/locks", Limits{MaxExpired: -1, MaxVacant: time.Second})
		tr.Create(name(1), 1, at(0))
		tr.Delete(name(1), Released, 1, at(10))
		if removed {
			tr.Delete("/locks/a", Released, 1, at(20))
		}
		if o := tr.Done(at(60_000), ""); o.Exceeds() == removed {
			t.Errorf("exceeds is %v, and the parent was removed: %v; %+v", o.Exceeds(), removed, o.Anomalies)
		}
	}
}

func TestTracker_reportsAHoldThatEndsBeforeItBegins(t *testing.T) {
	tr := NewTracker("/locks", Limits{MaxExpired: -1})
	tr.Create(name(1), 1, at(5000))
	tr.Delete(name(1), Released, 1, at(2000))
	if o := tr.Done(at(6000), ""); len(o.Anomalies) != 1 || !strings.Contains(o.Anomalies[0].Text, "removed 3s before it became first in line") {
		t.Errorf("anomalies %+v", o.Anomalies)
	}
}
