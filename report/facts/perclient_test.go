package facts

import "testing"

// A history may name any client: those that are no small number have a value too.
func TestPerClient(t *testing.T) {
	var p perClient[int]
	for _, client := range []int{0, 3, fewClients - 1, fewClients, 1 << 40, -1} {
		*p.of(client) = client + 7
	}
	for _, client := range []int{0, 3, fewClients - 1, fewClients, 1 << 40, -1} {
		if got := *p.of(client); got != client+7 {
			t.Errorf("client %d has %d", client, got)
		}
	}
	if got := *p.of(1); got != 0 {
		t.Errorf("a client without a value has %d", got)
	}
	if len(p.few) != fewClients || len(p.rest) != 3 {
		t.Errorf("%d in the slice, %d in the map", len(p.few), len(p.rest))
	}
}
