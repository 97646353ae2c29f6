package ensembles

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestServing_needsAllMembersAndOneLeader(t *testing.T) {
	down := MemberStatus{Err: errors.New("refused")}
	is := func(mode string) MemberStatus { return MemberStatus{Server: Server{Mode: mode}} }
	for name, test := range map[string]struct {
		all  []MemberStatus
		want bool
	}{
		"a leader and its followers":            {[]MemberStatus{is(ModeFollower), is(ModeLeader), is(ModeFollower)}, true},
		"an observer serves too":                {[]MemberStatus{is(ModeLeader), is(ModeObserver)}, true},
		"a standalone server":                   {[]MemberStatus{is(ModeStandalone)}, true},
		"one that does not answer":              {[]MemberStatus{is(ModeLeader), is(ModeFollower), down}, false},
		"followers of nobody":                   {[]MemberStatus{is(ModeFollower), is(ModeFollower)}, false},
		"two leaders, one of them a former one": {[]MemberStatus{is(ModeLeader), is(ModeLeader), is(ModeFollower)}, false},
		"a read-only member has no quorum":      {[]MemberStatus{is(ModeLeader), is("read-only")}, false},
		"nobody at all":                         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := serving(test.all); got != test.want {
				t.Errorf("serving: %v", got)
			}
		})
	}
}

// deadServer is a server process that has ended and left a log.
type deadServer struct {
	Machine
	log string
}

func (d deadServer) Running(context.Context) (bool, error) { return false, nil }

func (d deadServer) RecentLog(context.Context) ([]byte, error) { return []byte(d.log), nil }

func TestWaitServing_saysWhyItEnded(t *testing.T) {
	t.Run("a process that has ended ends the wait, and its log says why", func(t *testing.T) {
		log := "first\n" + strings.Repeat("middle\n", 15) + "Processing srvr command from us\n\tat a.b(C.java:1)\nbad zoo.cfg\n"
		m := &Member{Name: "zk1", Addr: closed(t), Machine: deadServer{log: log}}
		err := WaitServing(t.Context(), &Ensemble{Members: []*Member{m}})
		if err == nil {
			t.Fatal("no error")
		}
		for want, shown := range map[string]bool{
			"zk1: the server process has ended": true, "| bad zoo.cfg": true, "| middle": true,
			"first": false, "Processing srvr": false, "C.java": false,
		} {
			if strings.Contains(err.Error(), want) != shown {
				t.Errorf("shows %q: %v\n%v", want, !shown, err)
			}
		}
	})
	t.Run("the end of the time names each member's last answer", func(t *testing.T) {
		m := &Member{Name: "zk1", Addr: closed(t)}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := WaitServing(ctx, &Ensemble{Members: []*Member{m}})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "zk1: querying "+m.Addr) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an interrupted caller gets no explanation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := WaitServing(ctx, &Ensemble{Members: []*Member{{Name: "zk1", Addr: closed(t)}}})
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "zk1") {
			t.Errorf("got %v", err)
		}
	})
}
