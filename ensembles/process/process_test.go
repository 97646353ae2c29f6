package process

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zkbench/ensembles"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func up(tb testing.TB, o ensembles.Options) *ensembles.Ensemble {
	tb.Helper()
	if o.Logf == nil {
		o.Logf = tb.Logf
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := Start(ctx, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Down(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return e
}

func TestUp(t *testing.T) {
	start := time.Now()
	e := up(t, ensembles.Options{})
	t.Log(time.Since(start), e.About, e.Servers())
}
