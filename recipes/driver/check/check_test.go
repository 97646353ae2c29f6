package check

import "testing"

func TestInWords_saysOnceWhatWasNoticedOverAndOver(t *testing.T) {
	if got, want := inWords([]string{"a", "b", "a", "a"}), "a (3 times); b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
