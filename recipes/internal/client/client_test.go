package client

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
)

func TestCall_returnsWhatIsAnswered(t *testing.T) {
	want := errors.New("answer")
	if v, answered, err := Call(t.Context(), func() (int, error) { return 7, want }); v != 7 || !answered || err != want {
		t.Errorf("%d, %v, %v", v, answered, err)
	}
}

func TestCall_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	called, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	go func() {
		<-called
		cancel()
	}()
	if _, answered, err := Call(ctx, func() (int, error) {
		close(called)
		<-goOn
		return 7, nil
	}); answered || err != nil {
		t.Errorf("%v, %v", answered, err)
	}
}

func TestOwnNode_isTheSessionsOwn(t *testing.T) {
	const ours = 1
	owners := map[string]int64{"a-0": 2, "a-1": ours, "b-2": ours}
	failed := errors.New("no answer")
	stat := func(name string) (*zk.Stat, error) {
		if owner, found := owners[name]; found {
			return &zk.Stat{EphemeralOwner: owner}, nil
		}
		if name == "a-failed" {
			return nil, failed
		}
		return nil, nil
	}
	for _, row := range []struct {
		about string
		names []string
		want  string
		err   error
	}{
		{"a node of another session is passed over", []string{"a-0", "a-1"}, "a-1", nil},
		{"so is one with another prefix", []string{"b-2"}, "", nil},
		{"and one that is gone", []string{"a-9", "a-1"}, "a-1", nil},
		{"nothing is known without an answer", []string{"a-failed", "a-1"}, "", failed},
	} {
		t.Run(row.about, func(t *testing.T) {
			name, found, err := OwnNode(row.names, "a-", ours, stat)
			if name != row.want || (found != nil) != (row.want != "") || err != row.err {
				t.Errorf("%q, %v, %v; want %q, %v", name, found, err, row.want, row.err)
			}
		})
	}
}

func TestBase_isTheLastElement(t *testing.T) {
	for path, want := range map[string]string{"/a/b": "b", "/a": "a", "/": "", "a": "a"} {
		if got := Base(path); got != want {
			t.Errorf("Base(%q) = %q, want %q", path, got, want)
		}
	}
}
