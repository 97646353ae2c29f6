package setup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestNew_fillsInDefaults(t *testing.T) {
	r, err := New(ensembles.Process, ensembles.Options{})
	if err != nil || len(r.Members) != 3 || r.Tick != 2*time.Second || r.Kind != ensembles.Process || r.Owner != state.Self() {
		t.Fatalf("got %+v, %v", r, err)
	}
	if m := r.Members[2]; m.Name != "zk3" || m.ID != 3 || m.Ports != [3]int{2181, 2888, 3888} {
		t.Errorf("got %+v", m)
	}
	if other, _ := New(ensembles.Process, ensembles.Options{}); other.ID == r.ID || len(r.ID) != 8 {
		t.Errorf("two ensembles are called %q and %q", r.ID, other.ID)
	}
}

func TestNew_refuses(t *testing.T) {
	for name, test := range map[string]struct {
		o    ensembles.Options
		want string
	}{
		"more members than fit the network": {ensembles.Options{Members: 30}, "between 1 and 29"},
		"a negative number of members":      {ensembles.Options{Members: -1}, "between 1 and 29"},
		"more observers than fit it":        {ensembles.Options{Members: 20, Observers: 10}, "20 members and 10 observers"},
		"a negative number of observers":    {ensembles.Options{Members: 5, Observers: -1}, "-1 observers"},
		"a tick below ZooKeeper's unit":     {ensembles.Options{Tick: time.Microsecond}, "whole milliseconds"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(ensembles.Process, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestOnce_triesAgainUntilItSucceeds(t *testing.T) {
	failed := errors.New("still there")
	calls := 0
	down := Once(func(context.Context) error {
		if calls++; calls == 1 {
			return failed
		}
		return nil
	})
	for i, want := range []error{failed, nil, nil} {
		if err := down(t.Context()); err != want {
			t.Errorf("call %d: %v, want %v", i+1, err, want)
		}
	}
	if calls != 2 {
		t.Errorf("it was done %d times", calls)
	}
}
