package chaos

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestSessionStorm_cutsAShareOfTheClients(t *testing.T) {
	for _, row := range []struct {
		name        string
		share, want int
	}{
		{"all", 100, 6}, {"half", 50, 3}, {"at least one", 1, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := connect(t, shared(t), 6, 10*time.Second)
			e := inject(t, parse(t, "session.storm", "", "share", fmt.Sprint(row.share), "down", "50ms"), l.Target)
			if want := fmt.Sprintf("%d clients", row.want); e.Target != want || e.Client != -1 {
				t.Errorf("got %+v, want %s", e, want)
			}
			flapped := 0
			for i, c := range l.Clients {
				if c.Counts().Connections > 1 {
					flapped++
				}
				if s := c.Session(); s.Expired || s.Server == "" {
					t.Errorf("client %d: %+v", i, s)
				}
			}
			if flapped != row.want {
				t.Errorf("%d clients were cut off", flapped)
			}
		})
	}
}

func TestSessionStorm_hasNoEffectWithoutClients(t *testing.T) {
	if _, err := parse(t, "session.storm", "").Inject(t.Context(), Target{}); !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
}
