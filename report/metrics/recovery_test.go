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
