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
