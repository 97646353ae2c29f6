package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// If one of several cuts cannot be made, those before it are undone.
func TestNewPartition_makesAllCutsOrNone(t *testing.T) {
	target := cuttable(t)
	good := victim{Member: target.Ensemble.Members[0]}
	bad := victim{Member: &ensembles.Member{Name: "stranger"}}
	list := []memberRule{{good, packetRule{}}, {bad, packetRule{}}}
	proof := func(*partition) (string, error) { t.Error("it wants a proof"); return "", nil }
	if _, err := newPartition(t.Context(), target, list, proof); err == nil || !strings.Contains(err.Error(), "stranger is not a member") {
		t.Errorf("got %v", err)
	}
	if !reachable(t.Context(), good.Member, 20*time.Second) {
		t.Error("the first cut is in force")
	}
}

func TestPartition_isRemovedWhenItCannotBeProven(t *testing.T) {
	target := cuttable(t)
	m := target.Ensemble.Members[0]
	broken := errors.New("broken")
	for _, row := range []struct {
		name  string
		proof func() error
	}{
		{"an error", func() error { return broken }},
		{"a panic", func() error { panic(broken) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			func() {
				defer func() { recover() }()
				list := []memberRule{{victim{Member: m}, packetRule{}}}
				_, err := newPartition(t.Context(), target, list, func(*partition) (string, error) {
					if reachable(t.Context(), m, silence) {
						t.Error("not cut")
					}
					return "", row.proof()
				})
				if !errors.Is(err, broken) {
					t.Errorf("got %v", err)
				}
			}()
			if !reachable(t.Context(), m, 20*time.Second) {
				t.Error("the cut is in force")
			}
		})
	}
}

// Silence proves nothing of a member that did not answer before.
func TestSpeaks_needsAnAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := speaks(ctx, &ensembles.Member{Name: "zk1", Addr: "127.0.0.1:1"}); !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
	must(t, speaks(t.Context(), shared(t).Ensemble.Members[0]))
}
