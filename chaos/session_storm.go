package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// session.storm reproduces a restart of a network switch, as members see it.
var _ = register(Kind{
	Name:  "session.storm",
	About: "cuts many clients' connections at once, and lets them all come back at once",
	Proof: "connections were cut, and the same sessions have others",
	Params: []Param{
		{"share", "100", "how many of the clients, in percent"},
		paramDown,
	},
	needs: []need{needsTap},
	build: func(_ string, s settings) injector {
		share, down := s.number("share", 1, 100), s.duration("down")
		return func(ctx context.Context, t Target) (Effect, error) { return storm(ctx, t, share, down) }
	},
})

// storm disconnects a share of the clients with a session, in percent.
func storm(ctx context.Context, t Target, share int, down time.Duration) (Effect, error) {
	var clients []wire.Client
	for i := range t.Clients {
		if lives(t, i) {
			clients = append(clients, t.Clients[i])
		}
	}
	if len(clients) == 0 {
		return Effect{}, fmt.Errorf("%w: none of %d clients has a session", ErrNoEffect, len(t.Clients))
	}
	for i := range clients { // the first ones are then a random choice
		j := i + t.random(len(clients)-i)
		clients[i], clients[j] = clients[j], clients[i]
	}
	clients = clients[:max(1, len(clients)*share/100)]
	begin, cut := time.Now(), 0
	for _, b := range disconnect(ctx, clients, down) {
		if err := b.back(ctx); err != nil {
			return Effect{}, fmt.Errorf("client %d: %w", b.client.Number(), err)
		}
		cut += b.cut
	}
	return Effect{
		Target: fmt.Sprintf("%d clients", len(clients)), Client: -1,
		Proof: fmt.Sprintf("%d connections cut at once; all sessions had others after %v", cut, time.Since(begin).Round(time.Millisecond)),
	}, nil
}
