package agents

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// wait expects agents that the user starts.
type wait struct {
	Place
	n int
}

func parseWait(rest string, p Place) (Engine, error) {
	n, err := count(rest)
	return wait{p, n}, err
}

func (w wait) Agents() int { return w.n }

func (w wait) Reach(context.Context) (listen, host string, err error) {
	if w.Listen != "" {
		return w.Listen, "", nil
	}
	return "127.0.0.1:0", "", nil
}

func (w wait) Start(_ context.Context, j Join, _ func(error)) (stop func() error, err error) {
	file := filepath.Join(w.Dir, "join.pem")
	if err := writeJoin(file, j); err != nil {
		return nil, err
	}
	w.Logf("start %d agents, each with: %s agent --join %s", w.n, strings.Join(w.Self, " "), file)
	return func() error { return os.Remove(file) }, nil
}
