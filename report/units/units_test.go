package units

import (
	"math"
	"testing"
)

func TestDuration_hasThreeDigitsAndAUnit(t *testing.T) {
	for _, c := range []struct {
		name string
		ns   float64
		want string
	}{
		{"nothing is 0 s", 0, "0 s"},
		{"below a microsecond", 312, "312 ns"},
		{"a fraction of a nanosecond", 0.25, "0.25 ns"},
		{"microseconds", 940_000, "940 µs"},
		{"milliseconds", 31_234_567, "31.2 ms"},
		{"rounding carries over to the next unit", 999_960_000, "1.00 s"},
		{"seconds", 5.204e9, "5.20 s"},
		{"minutes", 125e9, "2 min 5 s"},
		{"negative", -2e6, "-2.00 ms"},
		{"not a number is unknown", math.NaN(), "unknown"},
		{"infinite is unknown", math.Inf(1), "unknown"},
	} {
		if got := Duration(c.ns); got != c.want {
			t.Errorf("%s: Duration(%v) = %q, want %q", c.name, c.ns, got, c.want)
		}
	}
}

func TestQuantity_isWrittenInItsUnit(t *testing.T) {
	for _, c := range []struct {
		name string
		v    float64
		unit string
		want string
	}{
		{"a time", 2e6, "ns", "2.00 ms"},
		{"a count per hand-off", 25.5, "1/handoff", "25.5/handoff"},
		{"a rate", 1240, "1/s", "1240/s"},
		{"few bytes", 612, "B/handoff", "612 B/handoff"},
		{"many bytes", 61_200, "B/handoff", "61.2 kB/handoff"},
		{"a great many bytes", 61_200_000, "B/handoff", "61.2 MB/handoff"},
		{"a unit we do not know", 7, "apples", "7 apples"},
		{"a plain count", 76011, "1", "76\u202f011"},
	} {
		if got := Quantity(c.v, c.unit); got != c.want {
			t.Errorf("%s: Quantity(%v, %q) = %q, want %q", c.name, c.v, c.unit, got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	const long = "it was without a fault it was without a fault it was without a fault it was without a fault "
	for _, c := range []struct{ about, got, want string }{
		{"nothing dangerous is left", Clean("lock\x00/\x1b[31mred\nnext\xff"), "lock\uFFFD/\uFFFD[31mred next\uFFFD"},
		{"a cut is marked", Truncate("lock/predecessor", 8), "lock/pr…"},
		{"whole words are kept", Truncate(long, 62), "it was without a fault it was without a fault it was without…"},
		{"what fits is untouched", Truncate("lock", 8), "lock"},
		{"times are as precise as a reader can use",
			RoundTimes("from 75.162462ms to 653.45228ms, after 12.345678901s, at 1m0.918727s, within 10s, 1.2345 times"),
			"from 75.162ms to 653.452ms, after 12.346s, at 1m0.919s, within 10s, 1.2345 times"},
		{"one", Plural(1, "verdict"), "1 verdict"},
		{"none", Plural(0, "verdict"), "0 verdicts"},
		{"a reason is short",
			ShortenReason("client 0 was granted token 4294968106 by node /zkbench-24a1/herd/line/c8-n-0000000000 of it"),
			"client 0 was granted token 0x10000032a by node c8-n-0000000000 of it"},
		{"a subject's name is no path", ShortenReason(`item "0-5" (node /a/line/9d-n-4, made by zxid 0x1) of lock/parent, token 5`),
			`item "0-5" (node 9d-n-4, made by zxid 0x1) of lock/parent, token 5`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.about, c.got, c.want)
		}
	}
}

func TestTick_hasNoIdleZeros(t *testing.T) {
	for ns, want := range map[float64]string{1e6: "1 ms", 10e6: "10 ms", 100e6: "100 ms", 0.5e3: "500 ns", 2.5e6: "2.5 ms", 300e9: "5 min 0 s"} {
		if got := Tick(ns); got != want {
			t.Errorf("Tick(%v) = %q, want %q", ns, got, want)
		}
	}
}

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
