package chaos

import (
	"errors"
	"testing"
)

// A fault that cannot be had has no proof.
func TestDisk_isSkipped(t *testing.T) {
	for _, name := range []string{"disk.full", "disk.slow"} {
		f, err := Parse(name, "", nil)
		must(t, err)
		if e, err := f.Inject(t.Context(), Target{}); !errors.Is(err, ErrSkipped) || e.Proof != "" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
