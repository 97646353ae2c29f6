package spec

import "testing"

func TestParseCell_knowsWhatCanBeDone(t *testing.T) {
	for name, clients := range map[string]int{"next exists #1/reply.drop": 3, "all/calm": 3, "all/crowd": 8, "all/backlog": 2} {
		if p, err := ParseCell(name); err != nil || p.clients != clients {
			t.Errorf("%s: %v, %d clients", name, err, p.clients)
		}
	}
	for _, name := range []string{"next exists #1/earthquake", "all/earthquake", "crowd", ""} {
		if _, err := ParseCell(name); err == nil {
			t.Errorf("%q was taken for a cell", name)
		}
	}
}
