package units

import "testing"

func TestNearest_namesTheClosestOrAll(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"hred", `; did you mean "herd"?`},
		{"hedr", `; did you mean "herd"?`}, // two letters swapped are one mistake
		{"herds", `; did you mean "herd"?`},
		{"partition", "; known: herd, churn"},
		{"", "; known: herd, churn"},
	} {
		if got := Nearest(c.name, []string{"herd", "churn"}); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestClosest_isAsCloseAsAMistypedName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"queue/kazo", "queue/kazoo"},
		{"queue/herd", ""}, // the same kind, and another name
		{"lock/parnet", "lock/parent"},
		{"kazoo", "queue/kazoo"}, // without its kind
		{"x", ""},
		{"", ""},
	} {
		if got := Closest(c.name, []string{"lock/parent", "queue/kazoo"}); got != c.want {
			t.Errorf("Closest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
