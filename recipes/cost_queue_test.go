package recipes

import "testing"

func TestQueueCost(t *testing.T) {
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
		got := QueueCost(c.variant, c.consumers, c.items)
		if got.Notifications != c.notifications || got.Requests() != c.most {
			t.Errorf("%s: %d notifications and %d requests, want %d and %d", c.name, got.Notifications, got.Requests(), c.notifications, c.most)
		}
	}
}

func TestFlapCost(t *testing.T) {
	for _, c := range []struct {
		name    string
		recipe  string
		variant Variant
		n       int
		behind  int
		leave   int64
		back    int64
	}{
		{"with parent watches a flap wakes all who wait, twice", "lock", Parent, 10, 4, 9, 8},
		{"an election is no different", "election", Parent, 10, 4, 9, 8},
		{"with predecessor watches it wakes the one behind", "election", Predecessor, 10, 4, 1, 0},
		{"the last in line has nobody behind", "lock", Predecessor, 10, 0, 0, 0},
		{"idle consumers that watch items do not see each other", "queue", Parent, 10, 4, 0, 0},
		{"consumers in line do", "queue", Predecessor, 10, 4, 1, 0},
	} {
		if leave, back := FlapCost(c.recipe, c.variant, c.n, c.behind); leave != c.leave || back != c.back {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, leave, back, c.leave, c.back)
		}
	}
}
