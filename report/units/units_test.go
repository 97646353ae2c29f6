package units

import (
	"math"
	"strings"
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

func TestClean_leavesNothingDangerous(t *testing.T) {
	got := Clean("lock\x00/\x1b[31mred\nnext\xff")
	if strings.ContainsAny(got, "\x00\x1b\n") || strings.Contains(got, "\xff") {
		t.Errorf("Clean left something dangerous: %q", got)
	}
	if !strings.Contains(got, "red next") {
		t.Errorf("Clean = %q, want the readable part kept", got)
	}
}

func TestShort_marksTheCut(t *testing.T) {
	if got := Truncate("lock/predecessor", 8); got != "lock/pr…" {
		t.Errorf("Short = %q", got)
	}
	if got := Truncate(strings.Repeat("it was without a fault ", 4), 62); got != "it was without a fault it was without a fault it was without…" {
		t.Errorf("Short = %q, want whole words", got)
	}
	if got := Truncate("lock", 8); got != "lock" {
		t.Errorf("Short = %q, want the text untouched", got)
	}
}

func TestTimes_areAsPreciseAsAReaderCanUse(t *testing.T) {
	const long = "from 75.162462ms to 653.45228ms, after 12.345678901s, at 1m0.918727s, within 10s, 1.2345 times"
	if got, want := RoundTimes(long), "from 75.162ms to 653.452ms, after 12.346s, at 1m0.919s, within 10s, 1.2345 times"; got != want {
		t.Errorf("Times = %q, want %q", got, want)
	}
}

func TestRatio_andPluralAreWords(t *testing.T) {
	for got, want := range map[string]string{
		Plural(1, "verdict"): "1 verdict", Plural(0, "verdict"): "0 verdicts",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
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

func TestReason_isShort(t *testing.T) {
	for in, want := range map[string]string{
		"client 0 was granted token 4294968106 by node /zkbench-24a1/herd/line/c8-n-0000000000 of it": "client 0 was granted token 0x10000032a by node c8-n-0000000000 of it",
		"item \"0-5\" (node /a/line/9d-n-4, made by zxid 0x1) of lock/parent, token 5":                "item \"0-5\" (node 9d-n-4, made by zxid 0x1) of lock/parent, token 5",
	} {
		if got := ShortenReason(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
