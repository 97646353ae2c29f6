package recipes

import "testing"

func TestQueueFormulas_countItems(t *testing.T) {
	for _, c := range []struct {
		name                string
		variant             Variant
		consumers, items    int
		notifications, most int64
	}{
		{"with parent watches an item wakes every consumer", Parent, 10, 1, 10, 51},
		{"and so does each of many", Parent, 10, 7, 70, 357},
		{"with predecessor watches it wakes the head and the next", Predecessor, 10, 1, 2, 10},
		{"a single consumer has no next", Predecessor, 1, 3, 3, 24},
		{"without an item nobody is woken", Parent, 10, 0, 0, 0},
		{"without a consumer nobody is woken", Predecessor, 0, 5, 0, 0},
	} {
		got := queueFormulas[c.variant].Deliver(c.consumers, c.items)
		if got.Notifications != c.notifications || got.Requests() != c.most {
			t.Errorf("%s: %d notifications and %d requests, want %d and %d", c.name, got.Notifications, got.Requests(), c.notifications, c.most)
		}
	}
}
