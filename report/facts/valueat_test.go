package facts

import "testing"

// A history may name any client: those that are no small number have a value too.
func TestValueAt_ofClients(t *testing.T) {
	p := map[int]*int{}
	for _, client := range []int{0, 3, 1 << 14, 1 << 40, -1} {
		*ValueAt(p, client) = client + 7
	}
	for _, client := range []int{0, 3, 1 << 14, 1 << 40, -1} {
		if got := *ValueAt(p, client); got != client+7 {
			t.Errorf("client %d has %d", client, got)
		}
	}
	if got := *ValueAt(p, 1); got != 0 {
		t.Errorf("a client without a value has %d", got)
	}
	if len(p) != 6 {
		t.Errorf("%d clients have a value", len(p))
	}
}
