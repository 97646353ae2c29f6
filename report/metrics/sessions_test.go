package metrics

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// connect is a phase in which sessions are opened, that ends at 10 s.
func connect() *line {
	return new(line).phaseOf("connect", history.ConnectPhase, history.ByHarness, 0, 10_000)
}

// connected opens a client's session between two instants.
func (b *line) connected(client, call, at int) *line {
	return b.session(history.Opened, client, at).
		add(&history.Connected{At: time.Duration(at) * ms, Phase: "connect", Client: client, Call: time.Duration(call) * ms})
}

// away has a client's session be without a connection between two instants.
func (b *line) away(client, lost, back int) *line {
	return b.add(&history.Reconnected{At: time.Duration(back) * ms, Client: client, Session: int64(100 + client), Lost: time.Duration(lost) * ms})
}

func TestSessions_areTimedFromTheFirstCallToTheLastThatStands(t *testing.T) {
	got := connect().connected(1, 12, 20).connected(0, 10, 30).connected(2, 11, 90).measure()
	if m := got[ConnectAll]; m.Value == nil || *m.Value != 80e6 || *m.Count != 3 {
		t.Errorf("all stand after %+v, want 80 ms, 3 of them", m)
	}
	if m := got[ConnectLatency]; m.Max == nil || *m.Max != 79e6 || *m.Min != 8e6 {
		t.Errorf("they took %+v, want 8 to 79 ms", m)
	}
}

func TestSessions_comeBackTogether(t *testing.T) {
	for _, row := range []struct {
		name string
		line *line
		want float64 // ms; 0: not measured
		back int64
	}{
		{"nobody was away", connect().connected(0, 0, 1), 0, 0},
		{"one after the other is no storm", connect().connected(0, 0, 1).away(0, 100, 300).away(1, 400, 500), 200, 2},
		{"from the first that went to the last that came", connect().connected(0, 0, 1).away(1, 120, 900).away(0, 100, 300).away(2, 110, 200), 800, 3},
		{"what comes after the phase is not of it", connect().connected(0, 0, 1).away(0, 100, 150).away(0, 11_000, 12_000), 50, 1},
	} {
		m, measured := row.line.measure()[ReconnectAll]
		if measured != (row.back > 0) || measured && (*m.Value != row.want*1e6 || *m.Count != row.back) {
			t.Errorf("%s: %+v, want %v ms, of %d", row.name, m, row.want, row.back)
		}
	}
}

func TestSessions_expireForNoReason(t *testing.T) {
	open := func() *line { return connect().connected(0, 0, 1).connected(1, 0, 1).connected(2, 0, 1) }
	for _, row := range []struct {
		name string
		line *line
		want float64
	}{
		{"none did", open(), 0},
		{"the servers let one expire", open().session(history.Expired, 1, 5000), 1},
		{"one heard nothing until its deadline, and then that it was gone", open().session(history.Deadline, 1, 5000).session(history.Expired, 1, 6000), 1},
		{"it was closed before", open().session(history.Closed, 1, 4000).session(history.Deadline, 1, 5000), 0},
		{"its client was killed", open().session(history.Killed, 1, 4000).session(history.Expired, 1, 5000), 0},
		{"a fault hit its client", open().fault(1, 3000, 4500).session(history.Expired, 1, 5000), 0},
		{"a fault hit another client", open().fault(2, 3000, 4500).session(history.Expired, 1, 5000), 1},
		{"a fault hit its client afterwards", open().session(history.Expired, 1, 5000).fault(1, 6000, 7000), 1},
		{"a member was killed, which ends no session", open().fault(-1, 3000, 4500).session(history.Expired, 1, 5000), 1},
		{"it is none of the clients'", open().session(history.Expired, 7, 5000), 0},
	} {
		if m := row.line.measure()[SessionsExpired]; m.Value == nil || *m.Value != row.want || *m.Count != 3 {
			t.Errorf("%s: %+v, want %v of 3", row.name, m, row.want)
		}
	}
	m := open().session(history.Deadline, 0, 2000).fault(-1, 3000, 4500).session(history.Expired, 1, 5000).session(history.Deadline, 2, 5000).measure()[SessionsExpired]
	if m.Note != "1 reported by the servers, 2 by passed deadlines; 2 after a fault affected a member" {
		t.Errorf("they expired %q", m.Note)
	}
	if m, some := new(line).phase("churn", 0, 100).session(history.Opened, 0, 1).session(history.Expired, 0, 50).measure()[SessionsExpired]; some {
		t.Errorf("%+v, although sessions are not what was looked at", m)
	}
}

func TestSessions_shareWhatTheyTake(t *testing.T) {
	got := connect().connected(0, 0, 1).add(&history.Footprint{Phase: "connect", Sessions: 4, Heap: 40_000, Stacks: 8000, Goroutines: 12}).measure()
	for name, want := range map[string]float64{SessionHeap: 10_000, SessionStacks: 2000, SessionGoroutines: 3} {
		if m := got[name]; m.Value == nil || *m.Value != want || *m.Count != 4 {
			t.Errorf("%s is %+v, want %v of 4", name, m, want)
		}
	}
	if m, some := connect().connected(0, 0, 1).measure()[SessionHeap]; some {
		t.Errorf("nobody measured it, but there is %+v", m)
	}
}

func TestSelf_keepsWhatTheHarnessSawOfItself(t *testing.T) {
	got := new(line).add(&history.HarnessLoad{LateMax: 7, MaxBacklog: 3, CPU: new(0.5), Stolen: new(0.25)}).measure()
	for name, want := range map[string]struct {
		unit  string
		value float64
	}{"self.late.max": {"ns", 7}, "self.backlog.max": {"1", 3}, "self.cpu.own": {"1", 0.5}, "self.cpu.stolen": {"1", 0.25}} {
		if m := got[name]; m.Value == nil || m.Unit != want.unit || *m.Value != want.value {
			t.Errorf("%s is %+v, want %v", name, m, want)
		}
	}
	if m, ok := got["self.cpu.machine"]; ok {
		t.Errorf("nobody knows what the machine used, but there is %+v", m)
	}
}

func TestOutage_isATimeInWhichSomebodyWaitsWithoutAHolderDuringAFault(t *testing.T) {
	for _, c := range []struct {
		name  string
		line  *line
		count int64
		mean  float64
	}{
		{"from the release to the next grant", new(line).hold("p", 1, 5, 0, 10, 20).fault(3, 15, 400).hold("p", 2, 6, 0, 300, 310), 1, 280},
		{"without a fault there is none", new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 300, 310), 0, -1},
		{"it begins with the call of who is granted", new(line).hold("p", 1, 5, 0, 10, 20).fault(3, 15, 400).hold("p", 2, 6, 290, 300, 310), 1, 10},
		{"it lasts until the phase is over, where somebody waits until then",
			new(line).phase("p", 0, 500).hold("p", 1, 5, 0, 10, 20).fault(3, 15, 600).waiting("p", 2, 120, 500), 1, 380},
		{"nobody waited", new(line).phase("p", 0, 500).hold("p", 1, 5, 0, 10, 20).fault(3, 15, 600), 0, -1},
	} {
		if count, mean := meanOf(c.line.measure(), outageTime); count != c.count || mean != c.mean {
			t.Errorf("%s: %d outages with mean %v ms, want %d with %v", c.name, count, mean, c.count, c.mean)
		}
	}
}
