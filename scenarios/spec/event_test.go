package spec

import "testing"

func TestParseEvent_readsEveryForm(t *testing.T) {
	for text, want := range map[string]Event{
		"":               {"", 1},
		"first grant":    {AfterFirstGrant, 1},
		"client 3 holds": {WhenHolding, 3},
		"50% wait":       {WhenWaiting, 50},
		"50 % wait":      {WhenWaiting, 50},
		"100 grants":     {AfterGrants, 100},
	} {
		if got, err := ParseEvent(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"client holds", "client -1 holds", "101% wait", "0% wait", "0 grants", "grants", "First grant", "9999999999 grants"} {
		if got, err := ParseEvent(text); err == nil {
			t.Errorf("%q is an event: %+v", text, got)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{"client 3 holds", "50% wait", "100 grants", "first grant"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if e, err := ParseEvent(s); err == nil && s != "" && (e.Kind == "" || e.N < 0) {
			t.Errorf("%q: %+v", s, e)
		}
	})
}
