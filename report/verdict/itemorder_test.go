package verdict

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// Client 1 is the producer, with session 101; the others take. Zxids of puts and takes
// are those that their clients knew of when they returned.
const clients = "opened 1 101; opened 2 102; opened 3 103; "

func delivers(how string) history.Header {
	return history.Header{Trial: "story", Recipe: Queue, Promises: history.Promises{FIFO: true, Delivery: how}}
}

func TestNoLoss_byTheCommits(t *testing.T) {
	const putA = clients + "create 5 101 a; put a 1 zxid=5; "
	judgeStories(t, NoLoss, []row{
		{"an item whose node its taker removed", putA + "delete 6 102 5; take a 2 client=2 zxid=6", Pass, ""},
		{"an item that still stands is not lost, whatever phase has ended", putA + "create 6 101 b; put b 2 zxid=6; delete 7 102 5; take a 3 client=2 zxid=7; phase drain 0 9; emptied 10", Pass, "1 item still in the queue"},
		{"an item that was removed and handed to nobody", putA + "delete 6 102 5; take - 2 unknown client=2 zxid=6", Fail, "removed by client 2 at zxid 0x6"},
		{"the take of which went on to the next item", putA + "create 6 101 b; put b 2 zxid=6; delete 7 102 5; delete 8 102 6; take b 3 client=2 zxid=8", Fail, `item "a" was put`},
		{"an item that went with a doubt", putA + "delete 6 102 5; take a 2 unknown client=2", Pass, ""},
		{"an item that a killed client had removed", putA + "delete 6 102 5; session killed 2 2", Pass, "1 item removed by a client that was killed"},
		{"an item that a client had removed long before it was killed", putA + "delete 6 102 5; take - 2 failed client=2 zxid=6; create 7 101 b; put b 3 zxid=7; delete 8 102 7; take b 4 client=2 zxid=8; session killed 2 9000", Fail, `item "a"`},
		{"what a call knew that was ended by the kill", putA + "delete 6 102 5; session killed 2 2; take - 3 failed client=2 zxid=6", Pass, "1 item removed by a client that was killed"},
		{"one that its producer has moved to where it is taken from", putA + "move 6 101 5 a; create 7 101 b; put b 3 zxid=7; delete 8 102 7; take b 4 client=2 zxid=8", Pass, "1 item still in the queue"},
		{"an item that was moved aside and handed to nobody", putA + "move 6 102 5 a; take - 2 failed client=2 zxid=6", Unknown, "1 item in another folder"},
		{"an item whose taker lost its session before the reply", putA + "delete 6 102 5; session lost 2 2; take - 3 failed client=2 zxid=5", Pass, "1 item removed"},
		{"an item whose taker lost its session long after the reply", putA + "delete 6 102 5; take - 2 failed client=2 zxid=6; session lost 2 3", Fail, "no take returned it"},
		{"a reply that was lost is no excuse where it is delivered exactly once", putA + "delete 6 102 5 9; lost 2 102 9 2; take - 3 unknown client=2", Fail, "removed by client 2"},
		{"an item that was put with success and never was in the queue", putA + "put b 2 zxid=5; delete 6 102 5; take a 3 client=2 zxid=6", Fail, "no transaction ever added it"},
		{"a put without a reply that was not carried out", putA + "put b 2 unknown zxid=5; delete 6 102 5; take a 3 client=2 zxid=6", Pass, ""},
		{"a put without a reply that was, and whose item is gone", putA + "create 6 101 b; put b 2 unknown zxid=5; delete 7 102 6; take - 3 unknown client=2", Fail, `item "b" was put`},
		{"what zkbench clears away in the end still stood", putA + "create 6 101 b; put b 2 zxid=6; delete 7 102 5; take a 3 client=2 zxid=7; delete 8 999 6", Pass, "1 item still in the queue"},
		{"a put without a reply whose producer has removed the item", putA + "create 6 101 b; put b 2 unknown zxid=5; delete 7 101 6; delete 8 102 5; take a 3 client=2 zxid=8", Pass, ""},
		{"an item that a consumer has moved to another node", putA + "delete 6 102 5; create 6 102 a; take - 2 unknown client=2", Pass, "1 item still in the queue"},
		{"an item that may have been put into a gap", putA + "put b 2 zxid=9; gap 6 8", Unknown, "gaps in the commits"},
		{"one item that nodes do not show does not excuse another", clients + "create 5 101 xyz; put a 1 zxid=5; create 6 101 b; put b 2 zxid=6; delete 7 102 5; take a 3 client=2 zxid=7; delete 8 102 6; take b 4 client=2 zxid=8; put c 5 zxid=8; emptied 9", Fail, `item "c" was put (record 8) and not taken, although the queue was drained`},
		{"where it was not drained, that may be in such a node", clients + "create 5 101 xyz; put a 1 zxid=5; create 6 101 b; put b 2 zxid=6; delete 7 102 5; take a 3 client=2 zxid=7; delete 8 102 6; take b 4 client=2 zxid=8; put c 5 zxid=8", Unknown, "not drained"},
		{"items that nodes do not show are judged by the calls", clients + "create 5 101 xyz; put a 1 zxid=5; put b 2 zxid=5; delete 6 102 5; take a 2 client=2 zxid=6", Unknown, "not drained"},
	})
	judgePromised(t, NoLoss, delivers(AtMostOnce), []row{
		{"at most once: an item may go with the reply", putA + "delete 6 102 5 9; lost 2 102 9 2; take - 3 unknown client=2", Pass, "1 item removed"},
		{"at most once: with a take of which nobody knows", putA + "delete 6 102 5; take - 3 unknown client=2", Pass, ""},
		{"at most once: it may stand aside for that take", putA + "move 6 102 5 a; take - 3 unknown client=2", Pass, "1 item still in the queue"},
		{"at most once: not with another client's take", putA + "delete 6 102 5; take - 2 failed client=2 zxid=6; take - 3 unknown client=3 zxid=6", Fail, `item "a"`},
		{"at most once: not with a reply that came", putA + "create 6 101 b; put b 2 zxid=6; delete 7 102 5; delete 8 102 6; take b 3 client=2 zxid=8", Fail, `item "a"`},
		{"at most once: one take without a reply explains one item", putA + "create 6 101 b; put b 2 zxid=6; delete 7 102 5; delete 8 102 6; take - 3 unknown client=2", Fail, `item "b"`},
	})
	judgePromised(t, NoLoss, delivers(AtLeastOnce), []row{
		{"at least once: an item is not removed before it is handed out", putA + "delete 6 102 5; session killed 2 2", Fail, "removed by client 2"},
		{"at least once: nor where the session ends before the reply", putA + "delete 6 102 5; session lost 2 2; take - 3 failed client=2 zxid=5", Fail, "removed by client 2"},
		{"at least once: a lost reply is no excuse", putA + "delete 6 102 5 9; lost 2 102 9 2; take - 3 unknown client=2", Fail, "removed by client 2"},
	})
}

func TestNoDuplicate_byTheCommits(t *testing.T) {
	const putA = clients + "create 5 101 a; put a 1 zxid=5; "
	judgeStories(t, NoDuplicate, []row{
		{"one node, taken once", putA + "delete 6 102 5; take a 2 client=2 zxid=6", Pass, ""},
		{"one node, taken twice", putA + "delete 6 102 5; take a 2 client=2 zxid=6; take a 2 client=3 zxid=6", Fail, "delivered twice, records 5 and 6"},
		{"one put that made two nodes, of which one was taken", clients + "create 5 101 a; create 6 101 a; put a 1 zxid=6; delete 7 102 5; take a 2 client=2 zxid=7", Fail, "created two nodes for it, at zxid 0x5 and 0x6"},
		{"a put without a reply that made two nodes", clients + "create 5 101 a; create 6 101 a; put a 1 unknown zxid=4; delete 7 102 5; take a 2 client=2 zxid=7", Fail, "created two nodes"},
		{"a put without a reply that made one node, taken twice", clients + "create 5 101 a; put a 1 unknown zxid=4; delete 6 102 5; take a 2 client=2 zxid=6; take a 2 client=3 zxid=6", Fail, "delivered twice"},
		{"an item that a consumer has moved", putA + "delete 6 102 5; create 6 102 a; delete 7 102 6; take a 2 client=2 zxid=7", Pass, ""},
		{"an item that a consumer has put back", putA + "delete 6 102 5; create 7 102 a; delete 8 103 7; take a 2 client=3 zxid=8", Pass, ""},
		{"that the producer has put back, which takes as well", putA + "delete 6 101 5; create 7 101 a; delete 8 103 7; take a 2 client=3 zxid=8", Pass, ""},
		{"a second copy that stands", putA + "delete 6 102 5; take a 2 client=2 zxid=6; create 7 101 a", Fail, "with its data was created at zxid 0x7"},
		{"one that another client has made", putA + "delete 6 102 5; create 7 103 a; take a 2 client=2 zxid=6", Fail, "was in the queue again after its delivery: a node with its data was created at zxid"},
		{"one of an item that had been put back before", putA + "delete 6 102 5; create 7 102 a; delete 8 103 7; take a 2 client=3 zxid=8; create 9 103 a", Fail, "with its data was created at zxid 0x9"},
		{"a copy in another folder, of what is done", putA + "delete 6 102 5; take a 2 client=2 zxid=6; move 7 102 5 a", Pass, ""},
		{"the second copy of an item that was taken long ago", putA + "delete 6 102 5; take a 2 client=2 zxid=6; create 7 101 a; delete 8 103 7; take a 3 client=3 zxid=8", Fail, "delivered twice"},
	})
	judgePromised(t, NoPhantom, delivers(facts.ExactlyOnce), []row{
		{"an item of which a node was made, and whose put has not returned", clients + "create 5 101 a; delete 6 102 5; take a 2 client=2 zxid=6", Pass, ""},
		{"an item of which no node was made", putA + "take b 2 client=2 zxid=6", Fail, `item "b"`},
		{"an item whose put had failed", clients + "create 5 101 a; put a 1 failed zxid=4; delete 6 102 5; take a 2 client=2 zxid=6", Fail, "its put had failed"},
	})
}

func TestQueueFIFO_byTheCommits(t *testing.T) {
	const two = clients + "create 5 101 a; put a 1 zxid=5; create 6 101 b; put b 1 zxid=6; "
	judgeStories(t, QueueFIFO, []row{
		{"items that leave as they came", two + "delete 7 102 5; delete 8 103 6; take b 2 client=3 zxid=8; take a 2 client=2 zxid=8", Pass, "2 items left the queue in the order"},
		{"an item that is removed while an older one stands, however near the takes", two + "delete 7 102 6; delete 8 103 5; take b 2 client=2 zxid=8; take a 2 client=3 zxid=8", Fail, "older item \"a\""},
		{"an older item that never leaves", two + "delete 7 102 6; take b 2 client=2 zxid=7; create 8 101 c; put c 3 zxid=8; delete 9 102 8; take c 3 client=2 zxid=9", Fail, `item "c"`},
		{"an older item that another consumer has claimed", two + "claim 7 103 5; delete 8 102 6; delete 9 103 5; take b 2 client=2 zxid=9; take a 2 client=3 zxid=9", Pass, ""},
		{"an older item whose claim was given up", two + "claim 7 103 5; delete 8 103 claim-5; take - 2 failed client=2 zxid=8; delete 9 102 6; take b 3 client=2 zxid=9", Fail, `item "b"`},
		{"an older item whose claim was given up when the client may have chosen", two + "claim 7 103 5; take - 2 failed client=2 zxid=7; delete 8 103 claim-5; delete 9 102 6; take b 3 client=2 zxid=9; delete 10 103 5; take a 4 client=3 zxid=10",
			Pass, "2 items left the queue in the order"},
		{"an item that its producer withdraws overtakes nobody", two + "create 7 101 c; put c 1 zxid=7; delete 8 101 6; delete 9 102 5; take a 2 client=2 zxid=9; delete 10 102 7; take c 3 client=2 zxid=10", Pass, "2 items left"},
		{"what an unknown take may have shown, and another removed", two + "take b 2 unknown client=2 zxid=6; delete 7 102 6; take b 3 client=2 zxid=7; delete 8 102 5; take a 4 client=2 zxid=8", Fail, "older item \"a\""},
		{"an older one whose put is recorded later", clients + "create 5 101 a; create 6 101 b; put b 1 zxid=6; delete 7 102 6; take b 2 client=2 zxid=7; put a 3 zxid=7; delete 8 103 5; take a 4 client=3 zxid=8", Fail, "older item \"a\""},
		{"an older node that is no item's", clients + "create 4 101 what; " + "create 5 101 a; put a 1 zxid=5; create 6 101 b; put b 1 zxid=6; delete 7 102 5; delete 8 103 6; take b 2 client=3 zxid=8; take a 2 client=2 zxid=8", Pass, "2 items"},
		{"an item that was moved leaves the line once", two + "delete 7 102 5; create 7 102 a; delete 8 103 6; take b 2 client=3 zxid=8; delete 9 102 7; take a 3 client=2 zxid=9", Pass, ""},
		{"a removal that may stand in a gap", two + "delete 8 102 6; take b 2 client=2 zxid=8; gap 7 7", Unknown, "gaps in the commits"},
		{"items that nodes do not show are judged by the calls", clients + "create 5 101 x; put a 1 zxid=5; put b 2; take b 3 client=2; take a 4 client=2", Fail, "had already been taken"},
	})
}

// What is handed over before it is removed has an order that the removals do not show.
func TestQueueFIFO_ofAQueueThatKeepsItsItems(t *testing.T) {
	const two = clients + "create 5 101 a; put a 1 zxid=5; create 6 101 b; put b 3 zxid=6 called=2; "
	judgeStories(t, QueueFIFO, []row{
		{"in order", two + "take a 4 client=2 zxid=6; take b 6 client=2 zxid=6 called=5", Pass, "and 2, which were delivered before their nodes were removed, by the clients' calls"},
		{"the newer one first", two + "take b 4 client=2 zxid=6; take a 6 client=2 zxid=6 called=5", Fail, `item "a" was put`},
		{"one item", two + "take a 4 client=2 zxid=6", Unknown, "a comparison needs two"},
	})
}

// An item that is removed when the work is done may be handed over again, after the session of its client.
func TestQueueFIFO_ofWhatIsRemovedWhenItIsDone(t *testing.T) {
	const two = clients + "create 5 101 a; put a 1 zxid=5; create 6 101 b; put b 3 zxid=6 called=2; "
	const newest = "take b 20004 client=2 called=20003 zxid=6; delete 7 102 6; take a 20006 client=2 called=20005 zxid=7; delete 8 102 5"
	const inOrder = "take a 4 client=2 zxid=6; take b 5 client=3 zxid=6; delete 7 103 6; delete 8 102 5"
	// A client that is too slow claims what another has done already, by a node with the item's data.
	const lateClaims = "; create 9 103 a; create 10 103 b; delete 11 103 9; delete 12 103 10"
	judgePromised(t, QueueFIFO, delivers(AtLeastOnce), []row{
		{"in order", two + inOrder, Pass, "0 by the servers' commits, and 2, which were delivered before their nodes were removed, by the clients' calls"},
		{"the newest first", two + newest, Fail, `item "a" was put at 1ms (record 4) before item "b" was (record 5), but "b" had already been taken (record 6) when`},
		{"the newest first, and nodes of claims that are removed", two + newest + lateClaims, Fail, `but "b" had already been taken`},
		{"nodes of claims are not items", clients + "create 5 101 a; put a 1 zxid=5; take a 4 client=2 zxid=6; delete 8 102 5" + strings.ReplaceAll(lateClaims, "103 b", "103 a"), Unknown, "1 items were certainly put and taken"},
		{"the oldest again, after its client has died", two + "take a 4 client=2 zxid=6; session killed 2 5; take b 6 client=3 called=5 zxid=6; take a 8000 client=3 called=7 zxid=6; delete 7 103 5; delete 8 103 6", Pass, "and 2, which were delivered before"},
		{"a client that died may have claimed the oldest", two + "session killed 2 15000; " + newest, Unknown, "another client may have claimed the older items"},
		{"one that failed to take an item may have", two + "take - 20000 failed client=3 called=5; " + newest, Unknown, "a take had failed"},
		{"a fault was near", two + "fault session.flap 3 15000 16000; " + newest, Unknown, "a fault was near"},
		{"nothing was near", two + "fault session.flap 3 1000 2000; take - 3000 failed client=3 called=5; session killed 3 3000; " + newest, Fail, `but "b" had already been taken`},
		{"another had claimed the oldest by a node", two + "claim 6 103 5; take b 20004 client=2 called=20003 zxid=6; delete 7 103 claim-5; take a 20006 client=2 called=20005 zxid=7; delete 8 102 5; delete 9 102 6", Pass, "and 2, which were delivered before"},
		{"its own claim is no reason", two + "claim 6 102 5; take b 20004 client=2 called=20003 zxid=6; take a 20006 client=2 called=20005 zxid=7; delete 8 102 5; delete 9 102 6", Fail, `but "b" had already been taken`},
	})
}

func TestQueueFIFO_ofItemsThatAreClaimedByTheirData(t *testing.T) {
	const two = clients + "create 5 101 a; put a 1 zxid=5; create 6 101 b; put b 1 zxid=6; "
	judgeStories(t, QueueFIFO, []row{
		{"another had claimed the oldest", two + "set 7 103 5; set 8 102 6; delete 9 102 6; take b 2 client=2 zxid=9; delete 10 103 5; take a 3 client=3 zxid=10", Pass, "2 items left"},
		{"nobody had", two + "set 7 101 5; set 8 102 6; delete 9 102 6; take b 2 client=2 zxid=9; delete 10 103 5; take a 3 client=3 zxid=10", Fail, "older item \"a\""},
	})
}

// Without commits an item may be put and taken again and again.
func TestNoDuplicate_withoutCommits(t *testing.T) {
	judgeStories(t, NoDuplicate, []row{{"of one identity", "opened 1 101; put a 1; take a 2; put a 3; take a 4; take a 5", Fail, "one item was put again and delivered twice"}})
}

func TestPlayed(t *testing.T) {
	judgeStories(t, Completed, []row{
		{"a trial that came to its end", "opened 1 9; acquire 1 5 0 10", Pass, ""},
		{"a trial that did not", "opened 1 9; acquire 1 5 0 10; unplayed 20 the subject does not fit", Unknown, "the subject does not fit"},
	})
	judgeStories(t, MutualExclusion, []row{
		{"what was played is judged", "opened 1 9; opened 2 8; acquire 1 5 0 10; acquire 2 6 0 10; unplayed 20 why", Fail, ""},
	})
}

func TestQueue(t *testing.T) {
	const drained = "; emptied 900; "
	for _, c := range []struct {
		guarantee string
		row
	}{
		{NoPhantom, row{"what was put may be taken", "put a 1; take a 2", Pass, ""}},
		{NoPhantom, row{"a take may be recorded before its put", "take a 2; put a 1", Pass, ""}},
		{NoPhantom, row{"what nobody put is a phantom", "put a 1; take b 2", Fail, `item "b" was taken (record 2) but never put`}},
		{NoPhantom, row{"what was put without success is a phantom", "put a 1 failed; take a 2", Fail, "never put"}},
		{NoPhantom, row{"a put without a reply may have put", "put a 1 unknown; take a 2", Pass, ""}},
		{NoDuplicate, row{"two deliveries of an item are a duplicate", "put a 1; take a 2; take a 3", Fail, `item "a" was delivered twice, records 2 and 3`}},
		{NoDuplicate, row{"a take without a reply delivered nothing for sure", "put a 1; take a 2; take a 3 unknown", Pass, ""}},
		{NoDuplicate, row{"a put without a reply may have put twice", "take a 2; take a 3; put a 1 unknown", Pass, ""}},
		{NoDuplicate, row{"another put without a reply may have put again what was taken", "put a 1; take a 2; put a 3 unknown; take a 4", Pass, ""}},
		{NoDuplicate, row{"another put that is certain is no excuse", "put a 1; take a 2; put a 3; take a 4", Fail, "records 2 and 4"}},
		{NoDuplicate, row{"of three deliveries the last two are cited", "put a 1; take a 2; take a 3; take a 4", Fail, "records 3 and 4"}},
		{NoPhantom, row{"what was taken before anybody put it, twice, is no phantom", "take a 2; take a 3; put a 1", Pass, ""}},
		{NoLoss, row{"without a put nothing can be lost", "take a 2" + drained, Unknown, "no items were ever put and taken"}},
		{NoLoss, row{"without a take nothing is shown", "put a 1" + drained, Unknown, "no items were ever put and taken"}},
		{NoLoss, row{"takes without a reply explain only as many items", "put a 1; put b 1; put c 1; take a 2; take - 3 unknown" + drained, Fail, "1 takes without a reply can explain at most as many of the 2"}},
		{NoLoss, row{"all that was put was taken", "put a 1; take a 2" + drained, Pass, ""}},
		{NoLoss, row{"an item that is missing after the queue was emptied is lost", "put a 1; put b 1; take a 2" + drained, Fail, `item "b" was put (record 2)`}},
		{NoLoss, row{"an item that is missing when the queue is empty is lost", "put a 1; put b 1; take a 2; emptied 3", Fail, `item "b" was put (record 2)`}},
		{NoLoss, row{"nor can what was being put then be missed", "put b 5; take b 6; put a 20 called=10; emptied 15", Unknown, "not drained"}},
		{NoLoss, row{"what was put after the queue was empty may still be in it", "put a 1; take a 2; emptied 3; put b 4", Unknown, "not drained"}},
		{NoLoss, row{"what was put after the drain may still be in it", "put a 1; take a 2" + drained + "put b 901", Unknown, "not drained"}},
		{NoLoss, row{"an item may still be in a queue that was not drained", "put a 1; put b 1; take a 2", Unknown, "not drained"}},
		{NoLoss, row{"a take without a reply may have taken it", "put a 1; put b 1; take a 2; take - 3 unknown" + drained, Unknown, "1 takes had no reply"}},
		{NoLoss, row{"an item that a take handed over with a doubt is not lost", "put a 1; put b 1; take a 2; take b 3 unknown" + drained, Pass, ""}},
		{NoLoss, row{"a phase that is called like an item has deleted nothing", "put a 1; put b 1; take a 2; take - 3 unknown; phase b 3 4; emptied 5", Unknown, "1 takes had no reply"}},
		{NoLoss, row{"a put without a reply need not be found", "put a 1; put b 1 unknown; take a 2" + drained, Pass, ""}},
		{MutualExclusion, row{"a queue has no holders to judge", "put a 1; take a 2", "", ""}},
	} {
		judgeStories(t, c.guarantee, []row{c.row})
	}
}
