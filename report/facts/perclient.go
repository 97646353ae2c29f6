package facts

// perClient keeps a value for each client. Clients are numbered from 0, so a slice is fastest;
// large numbers are in a map.
type perClient[T any] struct {
	few  []*T
	rest map[int]*T
}

// fewClients is the number of clients in the slice: more than in any of our runs.
const fewClients = 1 << 14

// of returns the client's value, at first a new one.
func (p *perClient[T]) of(client int) *T {
	if client < 0 || client >= fewClients {
		return p.other(client)
	}
	for client >= len(p.few) {
		p.few = append(p.few, nil)
	}
	if p.few[client] == nil {
		p.few[client] = new(T)
	}
	return p.few[client]
}

func (p *perClient[T]) other(client int) *T {
	if p.rest == nil {
		p.rest = map[int]*T{}
	}
	if p.rest[client] == nil {
		p.rest[client] = new(T)
	}
	return p.rest[client]
}
