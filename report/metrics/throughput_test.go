package metrics

import "testing"

func TestThroughput_countsThePhaseThatIsNotTheDrain(t *testing.T) {
	b := new(line).drain(0, 1000).phase("churn", 1000, 3000).
		hold("drain", 1, 5, 0, 10, 20).hold("churn", 1, 6, 1000, 1010, 1020).hold("churn", 1, 7, 1030, 1040, 1050)
	m := b.measure()[Throughput]
	if m.Value == nil || *m.Value != 1 || m.Unit != "1/s" || m.Phase != "churn" {
		t.Errorf("got %+v, want 2 grants in 2 s", m)
	}
}

func TestThroughput_countsAPhaseInWhichNobodyWasGranted(t *testing.T) {
	m := new(line).phase("a", 0, 1000).phase("b", 1000, 4000).hold("a", 1, 5, 0, 10, 20).hold("a", 1, 6, 30, 40, 50).waiting("b", 1, 1000, 4000).measure()
	if all := m[Throughput]; all.Value == nil || *all.Value != 0.5 {
		t.Errorf("got %+v, want 2 grants in 4 s", all)
	}
	if b := m[Throughput+".b"]; b.Value == nil || *b.Value != 0 {
		t.Errorf("got %+v, want no grant in 3 s", b)
	}
}
