package wire

import (
	"testing"
	"time"
)

func TestProof_saysWhatTheRuleDid(t *testing.T) {
	r := Rule{Op: Create, Path: "/lock/*", Nth: 2, Act: DropReply}
	p := Proof{Rule: r, Client: 17, Op: Create, Path: "/lock/a", Xid: 4, Matched: time.Second, Replied: true, Zxid: 0x1f}
	for _, tt := range []struct {
		change func(*Proof)
		want   string
	}{
		{func(*Proof) {}, "drop-reply create /lock/* #2 hit create /lock/a xid 4 of client 17 at 1s, swallowed its success at zxid 0x1f"},
		{func(p *Proof) { p.Code = -110 }, "drop-reply create /lock/* #2 hit create /lock/a xid 4 of client 17 at 1s, swallowed its error -110 at zxid 0x1f"},
		{func(p *Proof) { p.Err = errEndedFirst }, "drop-reply create /lock/* #2 hit create /lock/a xid 4 of client 17 at 1s, without effect: the connection ended first"},
		{func(p *Proof) { p.Rule = Rule{Act: Delay}; p.Done = 3 * time.Second }, "delay any #1 hit create /lock/a xid 4 of client 17 at 1s, held it for 2s"},
		{func(p *Proof) { p.Rule = Rule{Act: CutAfter}; p.Replied, p.Path = false, "" }, "cut-after any #1 hit create xid 4 of client 17 at 1s"},
	} {
		q := p
		tt.change(&q)
		if got := q.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
