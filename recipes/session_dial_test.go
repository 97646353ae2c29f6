package recipes

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"
)

// A second for every dial would do until thousands dial at once. Then all give up, and
// begin again.
func TestOpen_isMorePatientInEachRound(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	var limits []time.Duration // written by go-zookeeper's one connect loop
	_, err := Open(ctx, []string{"a:1", "b:1"}, Options{Timeout: 9 * time.Second,
		Dial: func(_, _ string, limit time.Duration) (net.Conn, error) {
			if limits = append(limits, limit); len(limits) == 8 {
				cancel()
			}
			return nil, errors.New("refused")
		}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	const s = time.Second
	if want := []time.Duration{s, s, 2 * s, 2 * s, 3 * s, 3 * s, 3 * s, 3 * s}; !slices.Equal(limits[:8], want) {
		t.Errorf("the dials could take %v, want %v: up to a third of the session timeout", limits[:8], want)
	}
}
