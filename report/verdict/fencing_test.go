package verdict

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestFencing(t *testing.T) {
	const two = "opened 1 101; opened 2 102; "
	judgeStories(t, Fencing, []row{
		{"tokens that rise from grant to grant are well",
			two + "acquire 1 5 0 1; write 1 5 1 2; release 1 5 3; acquire 2 6 0 5; write 2 6 2 6; release 2 6 7",
			Pass, "the tokens of 2 grants increase from grant to grant; 2 writes accepted, 0 refused"},
		{"a token that repeats tells nobody apart",
			two + "hold 1 5 1 3; hold 2 5 5 7",
			Fail, "token 5 of client 2, granted at 5ms (record 5), repeats token 5 of client 1"},
		{"a token that goes down lets the past overwrite the present",
			two + "hold 1 5 1 3; hold 2 4 5 7",
			Fail, "token 4 of client 2, granted at 5ms (record 5), is lower than token 5 of client 1"},
		{"a token is compared with the last one that held without a doubt",
			two + "hold 1 5 1 3; acquire 2 9 0 5; session lost 2 6; hold 1 7 10 11",
			Pass, "the tokens of 2 grants increase from grant to grant"},
		{"who holds beside another holds in doubt",
			two + "hold 1 5 1 3; acquire 2 9 0 5; acquire 1 7 4 6; release 2 9 11; release 1 7 13; " +
				"acquire 2 8 13 15; release 2 8 16", Pass, "the tokens of 2 grants increase from grant to grant"},
		{"a fault near the grant leaves a doubt",
			two + "hold 1 5 1 3; fault session.flap 2 2 3; hold 2 4 5 7", NotJudged, "1 grants with a token"},
		{"a holder without a doubt that is refused",
			two + "acquire 1 5 0 1; write 1 5 0 2 failed; release 1 5 3",
			Fail, "client 1 was the only holder, with the valid token 5, from 1ms (record 3), but its write at 2ms was refused (record 4): a higher token had been used before"},
		{"a stale write that is refused is what fencing is for",
			two + "acquire 1 5 0 1; session lost 1 3; acquire 2 6 0 4; write 2 6 1 5; write 1 5 0 6 failed; " +
				"release 2 6 7", NotJudged, "1 writes accepted, 1 refused as stale"},
		{"a write without a reply proves nothing",
			two + "acquire 1 5 0 1; write 1 5 0 2 unknown; release 1 5 3", NotJudged, "1 of unknown outcome"},
		{"no grant, no verdict", two, Unknown, "nothing was granted"},
	})
}

// By the commits, who held without a doubt is known whatever faults there were.
func TestFencing_isJudgedByTheCommits(t *testing.T) {
	held := func(client int, czxid, token int64, from, to int64) list {
		a := acquired(client, czxid, from, seconds(from))
		r := released(client, czxid, to, seconds(to))
		a.Token, r.Token = token, token
		return list{created(int64(100+client), czxid), a, deleted(int64(100+client), czxid, to), r}
	}
	own := func(records list) list {
		records[1].(*history.Sample).Own = true
		return records
	}
	flap := &history.Window{Fault: "session.flap", Client: 2, Start: 1, End: 20 * second, Proof: "seen"}
	judgeRecords(t, Fencing, fair, bothOpened, []recordRow{
		{"the tokens are those of the nodes", join(held(1, 10, 10, 11, 12), held(2, 13, 13, 14, 15)), Pass, "the tokens of 2 grants increase from grant to grant"},
		{"numbers of the subject's own may rise as well", join(own(held(1, 10, 1, 11, 12)), own(held(2, 13, 2, 14, 15))), Pass, "the tokens of 2 grants increase from grant to grant"},
		{"numbers of the subject's own may begin with 0", join(own(held(1, 10, 0, 11, 12)), own(held(2, 13, 1, 14, 15)), own(held(1, 16, 2, 17, 18))), Pass, "the tokens of 2 grants increase from grant to grant"},
		{"a number of the subject's own that goes down to 0", join(own(held(1, 10, 1, 11, 12)), own(held(2, 13, 0, 14, 15))), Fail, "token 0 of client 2, granted at 14s (record 5), is lower than token 1 of client 1"},
		{"one that is always 0 may be none", join(own(held(1, 10, 0, 11, 12)), own(held(2, 13, 0, 14, 15))), NotJudged, "only 0 grants with a token"},
		{"no token is not one that repeats", join(held(1, 10, 0, 11, 12), held(2, 13, 0, 14, 15)), NotJudged, "only 0 grants with a token"},
		{"a constant is no token", join(held(1, 10, 7, 11, 12), held(2, 13, 7, 14, 15)), Fail, "repeats token 7"},
		{"a number that goes down is no token", join(held(1, 10, 8, 11, 12), held(2, 13, 7, 14, 15)), Fail, "is lower than token 8"},
		{"a fault does not excuse it", join(list{flap}, held(1, 10, 8, 11, 12), held(2, 13, 7, 14, 15)), Fail, "is lower than token 8"},
		{"whose node went with its session was let in all the same",
			join(held(1, 10, 10, 11, 12), list{created(102, 13), acquired(2, 13, 13, seconds(13)), sessionGone(102, 14, 13),
				released(2, 13, 15, seconds(15))}), Pass, "the tokens of 2 grants increase from grant to grant"},
	})
	judgeRecords(t, Fencing, unfair, bothOpened, []recordRow{
		{"or not", join(own(held(1, 10, 2, 11, 12)), own(held(2, 13, 1, 14, 15))), Fail, "is lower than token 2"},
		{"nodes that are granted in another order than they came",
			join(list{created(102, 9)}, held(1, 10, 10, 11, 12), held(2, 9, 9, 13, 14)[1:]), NotJudged, "the subject does not promise an order of tokens, and no client wrote to the fenced resource"},
		{"a token of the subject's own has an order all the same", join(held(1, 10, 7, 11, 12), held(2, 13, 7, 14, 15)), Fail, "repeats token 7"},
	})
}

// A holder whose session has expired, and who does not know it, is a holder of the past: who
// was let in since has a higher token, and is not refused.
func TestFencing_besideAHolderOfThePast(t *testing.T) {
	first := func(token int64) list {
		a := acquired(1, 10, 10, seconds(10))
		a.Token, a.Own = token, true
		return list{created(101, 10), created(102, 11), a, sessionGone(101, 14, 10)}
	}
	next := func(token int64, write history.Outcome) list {
		a := acquired(2, 11, 14, seconds(15))
		w := operation(history.Write, 2, 11, 14, seconds(16))
		r := released(2, 11, 17, seconds(17))
		a.Token, w.Token, r.Token, a.Own, w.Outcome = token, token, token, true, write
		return list{a, w, deleted(102, 11, 17), r}
	}
	learns := list{&history.Session{At: seconds(20), Event: history.Lost, Client: 1, Session: 101}}
	standsStill := first(9)
	standsStill[3] = deleted(101, 10, 18) // both stood all the time
	// Nothing is known of the node of a third.
	lost := list{acquired(2, 18, 18, seconds(21)), released(2, 18, 19, seconds(22))}
	// The first returned from its acquire when it had expired, and the next had let go again.
	late := func(token int64) list {
		f := first(token)
		f[2].(*history.Sample).Call, f[2].(*history.Sample).Return = seconds(9), seconds(18)
		return f
	}
	judgeRecords(t, Fencing, fair, bothOpened, []recordRow{
		{"a token that rises", join(first(7), next(8, history.OK), learns), Pass, "the tokens of 2 grants increase from grant to grant"},
		{"one that repeats", join(first(7), next(7, history.OK), learns), Fail, "repeats token 7 of client 1"},
		{"one that goes down", join(first(7), next(6, history.OK), learns), Fail, "is lower than token 7 of client 1"},
		{"that it goes down is not known where a removal may be missing", join(first(7), next(6, history.OK), learns, list{withGap()}), Unknown, "there are gaps in the commits"},
		{"a grant whose node is missing may have had any", join(first(7), next(8, history.OK), learns, lost, list{withGap()}), Unknown, "the commits do not contain the node of 1 grant"},
		{"a valid holder that is refused", join(first(7), next(8, history.Failed), learns), Fail, "but its write at"},
		{"of two that both hold neither is valid", join(standsStill, next(8, history.Failed), learns), NotJudged, "1 grants"},
		{"who comes back late from its acquire was let in before", join(late(7)[:2], late(7)[3:], next(8, history.OK), late(7)[2:3], learns), NotJudged, "1 grants"},
	})
}
