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
		if got := serving(test.all); got != test.want {
			t.Errorf("%s: serving: %v", name, got)
		}
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
	m := &Member{Name: "zk1", Addr: closed(t)}
	e := &Ensemble{Members: []*Member{m}}
	late, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := WaitServing(late, e)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "zk1 not serving (querying "+m.Addr) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("each member's last answer is missing: %v", err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WaitServing(interrupted, e); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "zk1") {
		t.Errorf("an interrupted caller gets an explanation: %v", err)
	}
	// A process that has ended ends the wait, and its log says why.
	m.Machine = deadServer{log: "first\n" + strings.Repeat("middle\n", 15) + "Processing srvr command from us\n\tat a.b(C.java:1)\nbad zoo.cfg\n"}
	if err = WaitServing(t.Context(), e); err == nil {
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
}
