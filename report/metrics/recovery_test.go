package metrics

import "testing"

func TestOutage_isATimeWithoutAHolderDuringAFault(t *testing.T) {
	m := new(line).hold("p", 1, 5, 0, 10, 20).fault(3, 15, 400).hold("p", 2, 6, 0, 300, 310).measure()[outageTime]
	if m.Max == nil || *m.Max != 280e6 {
		t.Errorf("the outage is %v, want 280 ms", m.Max)
	}
	if m, ok := new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 300, 310).measure()[outageTime]; ok {
		t.Errorf("an outage without a fault: %+v", m)
	}
}

func TestOutage_takesSomebodyWhoWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		line  *line
		count int64
		mean  float64
	}{
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
