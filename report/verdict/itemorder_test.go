package verdict

import (
	"testing"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// Client 1 is the producer, with session 101; the others take. Zxids of puts and takes
// are those that their clients knew of when they returned.
const clients = "opened 1 101\nopened 2 102\nopened 3 103\n"

func delivers(how string) history.Header {
	return history.Header{Trial: "story", Recipe: Queue, Promises: history.Promises{FIFO: true, Delivery: how}}
}

func TestNoLoss_byTheCommits(t *testing.T) {
	const putA = clients + "create 5 101 a\nput a 1 zxid=5\n"
	judgeStories(t, NoLoss, []row{
		{"an item whose node its taker removed", putA + "delete 6 102 5\ntake a 2 client=2 zxid=6", Pass, ""},
		{"an item that still stands is not lost, whatever phase has ended", putA + "create 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ntake a 3 client=2 zxid=7\nphase drain 0 9\nemptied 10", Pass, "1 item still in the queue"},
		{"an item that was removed and handed to nobody", putA + "delete 6 102 5\ntake - 2 unknown client=2 zxid=6", Fail, "removed by client 2 at zxid 0x6"},
		{"the take of which went on to the next item", putA + "create 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ndelete 8 102 6\ntake b 3 client=2 zxid=8", Fail, `item "a" was put`},
		{"an item that went with a doubt", putA + "delete 6 102 5\ntake a 2 unknown client=2", Pass, ""},
		{"an item that a killed client had removed", putA + "delete 6 102 5\nsession killed 2 2", Pass, "1 item removed by a client that was killed"},
		{"an item that a client had removed long before it was killed", putA + "delete 6 102 5\ntake - 2 failed client=2 zxid=6\ncreate 7 101 b\nput b 3 zxid=7\ndelete 8 102 7\ntake b 4 client=2 zxid=8\nsession killed 2 9000", Fail, `item "a"`},
		{"what a call knew that was ended by the kill", putA + "delete 6 102 5\nsession killed 2 2\ntake - 3 failed client=2 zxid=6", Pass, "1 item removed by a client that was killed"},
		{"one that its producer has moved to where it is taken from", putA + "move 6 101 5 a\ncreate 7 101 b\nput b 3 zxid=7\ndelete 8 102 7\ntake b 4 client=2 zxid=8", Pass, "1 item still in the queue"},
		{"an item that was moved aside and handed to nobody", putA + "move 6 102 5 a\ntake - 2 failed client=2 zxid=6", Unknown, "1 item in another folder"},
		{"an item whose taker lost its session before the reply", putA + "delete 6 102 5\nsession lost 2 2\ntake - 3 failed client=2 zxid=5", Pass, "1 item removed"},
		{"an item whose taker lost its session long after the reply", putA + "delete 6 102 5\ntake - 2 failed client=2 zxid=6\nsession lost 2 3", Fail, "no take returned it"},
		{"a reply that was lost is no excuse where it is delivered exactly once", putA + "delete 6 102 5 9\nlost 2 102 9 2\ntake - 3 unknown client=2", Fail, "removed by client 2"},
		{"an item that was put with success and never was in the queue", putA + "put b 2 zxid=5\ndelete 6 102 5\ntake a 3 client=2 zxid=6", Fail, "no transaction ever added it"},
		{"a put without a reply that was not carried out", putA + "put b 2 unknown zxid=5\ndelete 6 102 5\ntake a 3 client=2 zxid=6", Pass, ""},
		{"a put without a reply that was, and whose item is gone", putA + "create 6 101 b\nput b 2 unknown zxid=5\ndelete 7 102 6\ntake - 3 unknown client=2", Fail, `item "b" was put`},
		{"what zkbench clears away in the end still stood", putA + "create 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ntake a 3 client=2 zxid=7\ndelete 8 999 6", Pass, "1 item still in the queue"},
		{"a put without a reply whose producer has removed the item", putA + "create 6 101 b\nput b 2 unknown zxid=5\ndelete 7 101 6\ndelete 8 102 5\ntake a 3 client=2 zxid=8", Pass, ""},
		{"an item that a consumer has moved to another node", putA + "delete 6 102 5\ncreate 6 102 a\ntake - 2 unknown client=2", Pass, "1 item still in the queue"},
		{"an item that may have been put into a gap", putA + "put b 2 zxid=9\ngap 6 8", Unknown, "gaps in the commits"},
		{"one item that nodes do not show does not excuse another", clients + "create 5 101 xyz\nput a 1 zxid=5\ncreate 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ntake a 3 client=2 zxid=7\ndelete 8 102 6\ntake b 4 client=2 zxid=8\nput c 5 zxid=8\nemptied 9", Fail, `item "c" was put (record 8) and not taken, although the queue was drained`},
		{"where it was not drained, that may be in such a node", clients + "create 5 101 xyz\nput a 1 zxid=5\ncreate 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ntake a 3 client=2 zxid=7\ndelete 8 102 6\ntake b 4 client=2 zxid=8\nput c 5 zxid=8", Unknown, "not drained"},
		{"items that nodes do not show are judged by the calls", clients + "create 5 101 xyz\nput a 1 zxid=5\nput b 2 zxid=5\ndelete 6 102 5\ntake a 2 client=2 zxid=6", Unknown, "not drained"},
	})
	judgePromised(t, NoLoss, delivers(AtMostOnce), []row{
		{"at most once: an item may go with the reply", putA + "delete 6 102 5 9\nlost 2 102 9 2\ntake - 3 unknown client=2", Pass, "1 item removed"},
		{"at most once: with a take of which nobody knows", putA + "delete 6 102 5\ntake - 3 unknown client=2", Pass, ""},
		{"at most once: it may stand aside for that take", putA + "move 6 102 5 a\ntake - 3 unknown client=2", Pass, "1 item still in the queue"},
		{"at most once: not with another client's take", putA + "delete 6 102 5\ntake - 2 failed client=2 zxid=6\ntake - 3 unknown client=3 zxid=6", Fail, `item "a"`},
		{"at most once: not with a reply that came", putA + "create 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ndelete 8 102 6\ntake b 3 client=2 zxid=8", Fail, `item "a"`},
		{"at most once: one take without a reply explains one item", putA + "create 6 101 b\nput b 2 zxid=6\ndelete 7 102 5\ndelete 8 102 6\ntake - 3 unknown client=2", Fail, `item "b"`},
	})
	judgePromised(t, NoLoss, delivers(AtLeastOnce), []row{
		{"at least once: an item is not removed before it is handed out", putA + "delete 6 102 5\nsession killed 2 2", Fail, "removed by client 2"},
		{"at least once: nor where the session ends before the reply", putA + "delete 6 102 5\nsession lost 2 2\ntake - 3 failed client=2 zxid=5", Fail, "removed by client 2"},
		{"at least once: a lost reply is no excuse", putA + "delete 6 102 5 9\nlost 2 102 9 2\ntake - 3 unknown client=2", Fail, "removed by client 2"},
	})
}

func TestNoDuplicate_byTheCommits(t *testing.T) {
	const putA = clients + "create 5 101 a\nput a 1 zxid=5\n"
	judgeStories(t, NoDuplicate, []row{
		{"one node, taken once", putA + "delete 6 102 5\ntake a 2 client=2 zxid=6", Pass, ""},
		{"one node, taken twice", putA + "delete 6 102 5\ntake a 2 client=2 zxid=6\ntake a 2 client=3 zxid=6", Fail, "delivered twice, records 5 and 6"},
		{"one put that made two nodes, of which one was taken", clients + "create 5 101 a\ncreate 6 101 a\nput a 1 zxid=6\ndelete 7 102 5\ntake a 2 client=2 zxid=7", Fail, "created two nodes for it, at zxid 0x5 and 0x6"},
		{"a put without a reply that made two nodes", clients + "create 5 101 a\ncreate 6 101 a\nput a 1 unknown zxid=4\ndelete 7 102 5\ntake a 2 client=2 zxid=7", Fail, "created two nodes"},
		{"a put without a reply that made one node, taken twice", clients + "create 5 101 a\nput a 1 unknown zxid=4\ndelete 6 102 5\ntake a 2 client=2 zxid=6\ntake a 2 client=3 zxid=6", Fail, "delivered twice"},
		{"an item that a consumer has moved", putA + "delete 6 102 5\ncreate 6 102 a\ndelete 7 102 6\ntake a 2 client=2 zxid=7", Pass, ""},
		{"an item that a consumer has put back", putA + "delete 6 102 5\ncreate 7 102 a\ndelete 8 103 7\ntake a 2 client=3 zxid=8", Pass, ""},
		{"that the producer has put back, which takes as well", putA + "delete 6 101 5\ncreate 7 101 a\ndelete 8 103 7\ntake a 2 client=3 zxid=8", Pass, ""},
		{"a second copy that stands", putA + "delete 6 102 5\ntake a 2 client=2 zxid=6\ncreate 7 101 a", Fail, "with its data was created at zxid 0x7"},
		{"one that another client has made", putA + "delete 6 102 5\ncreate 7 103 a\ntake a 2 client=2 zxid=6", Fail, "was in the queue again after its delivery: a node with its data was created at zxid"},
		{"one of an item that had been put back before", putA + "delete 6 102 5\ncreate 7 102 a\ndelete 8 103 7\ntake a 2 client=3 zxid=8\ncreate 9 103 a", Fail, "with its data was created at zxid 0x9"},
		{"a copy in another folder, of what is done", putA + "delete 6 102 5\ntake a 2 client=2 zxid=6\nmove 7 102 5 a", Pass, ""},
		{"the second copy of an item that was taken long ago", putA + "delete 6 102 5\ntake a 2 client=2 zxid=6\ncreate 7 101 a\ndelete 8 103 7\ntake a 3 client=3 zxid=8", Fail, "delivered twice"},
	})
	judgePromised(t, NoPhantom, delivers(facts.ExactlyOnce), []row{
		{"an item of which a node was made, and whose put has not returned", clients + "create 5 101 a\ndelete 6 102 5\ntake a 2 client=2 zxid=6", Pass, ""},
		{"an item of which no node was made", putA + "take b 2 client=2 zxid=6", Fail, `item "b"`},
		{"an item whose put had failed", clients + "create 5 101 a\nput a 1 failed zxid=4\ndelete 6 102 5\ntake a 2 client=2 zxid=6", Fail, "its put had failed"},
	})
}

func TestQueueFIFO_byTheCommits(t *testing.T) {
	const two = clients + "create 5 101 a\nput a 1 zxid=5\ncreate 6 101 b\nput b 1 zxid=6\n"
	judgeStories(t, QueueFIFO, []row{
		{"items that leave as they came", two + "delete 7 102 5\ndelete 8 103 6\ntake b 2 client=3 zxid=8\ntake a 2 client=2 zxid=8", Pass, "2 items left the queue in the order"},
		{"an item that is removed while an older one stands, however near the takes", two + "delete 7 102 6\ndelete 8 103 5\ntake b 2 client=2 zxid=8\ntake a 2 client=3 zxid=8", Fail, "older item \"a\""},
		{"an older item that never leaves", two + "delete 7 102 6\ntake b 2 client=2 zxid=7\ncreate 8 101 c\nput c 3 zxid=8\ndelete 9 102 8\ntake c 3 client=2 zxid=9", Fail, `item "c"`},
		{"an older item that another consumer has claimed", two + "claim 7 103 5\ndelete 8 102 6\ndelete 9 103 5\ntake b 2 client=2 zxid=9\ntake a 2 client=3 zxid=9", Pass, ""},
		{"an older item whose claim was given up", two + "claim 7 103 5\ndelete 8 103 claim-5\ndelete 9 102 6\ntake b 2 client=2 zxid=9", Fail, `item "b"`},
		{"an item that its producer withdraws overtakes nobody", two + "delete 7 101 6\ndelete 8 102 5\ntake a 2 client=2 zxid=8", Pass, ""},
		{"what an unknown take may have shown, and another removed", two + "take b 2 unknown client=2 zxid=6\ndelete 7 102 6\ntake b 3 client=2 zxid=7\ndelete 8 102 5\ntake a 4 client=2 zxid=8", Fail, "older item \"a\""},
		{"an older one whose put is recorded later", clients + "create 5 101 a\ncreate 6 101 b\nput b 1 zxid=6\ndelete 7 102 6\ntake b 2 client=2 zxid=7\nput a 3 zxid=7\ndelete 8 103 5\ntake a 4 client=3 zxid=8", Fail, "older item \"a\""},
		{"an older node that is no item's", clients + "create 4 101 what\n" + "create 5 101 a\nput a 1 zxid=5\ncreate 6 101 b\nput b 1 zxid=6\ndelete 7 102 5\ndelete 8 103 6\ntake b 2 client=3 zxid=8\ntake a 2 client=2 zxid=8", Pass, "2 items"},
		{"an item that was moved leaves the line once", two + "delete 7 102 5\ncreate 7 102 a\ndelete 8 103 6\ntake b 2 client=3 zxid=8\ndelete 9 102 7\ntake a 3 client=2 zxid=9", Pass, ""},
		{"a removal that may stand in a gap", two + "delete 8 102 6\ntake b 2 client=2 zxid=8\ngap 7 7", Unknown, "gaps in the commits"},
		{"items that nodes do not show are judged by the calls", clients + "create 5 101 x\nput a 1 zxid=5\nput b 2\ntake b 3 client=2\ntake a 4 client=2", Fail, "had already been taken"},
	})
}

// What is handed over before it is removed has an order that the removals do not show.
func TestQueueFIFO_ofAQueueThatKeepsItsItems(t *testing.T) {
	const two = clients + "create 5 101 a\nput a 1 zxid=5\ncreate 6 101 b\nput b 3 zxid=6 called=2\n"
	judgeStories(t, QueueFIFO, []row{
		{"in order", two + "take a 4 client=2 zxid=6\ntake b 6 client=2 zxid=6 called=5", Pass, "no item's node was removed: only the clients' calls were evaluated"},
		{"the newer one first", two + "take b 4 client=2 zxid=6\ntake a 6 client=2 zxid=6 called=5", Fail, `item "a" was put`},
		{"one item", two + "take a 4 client=2 zxid=6", Unknown, "a comparison needs two"},
	})
}

func TestQueueFIFO_ofWhatIsRemovedWhenItIsDone(t *testing.T) {
	judgePromised(t, QueueFIFO, delivers(AtLeastOnce), []row{{"the newest first", clients + `create 5 101 a
put a 1 zxid=5
create 6 101 b
put b 1 zxid=6
take b 2 client=2 zxid=6
delete 7 102 6
take a 3 client=2 zxid=7
delete 8 102 5`, NotJudged, "2 items were delivered before their nodes were removed"}})
}

// Without commits an item may be put and taken again and again.
func TestNoDuplicate_withoutCommits(t *testing.T) {
	judgeStories(t, NoDuplicate, []row{{"of one identity", "opened 1 101\nput a 1\ntake a 2\nput a 3\ntake a 4\ntake a 5", Fail, "one item was put again and delivered twice"}})
}

func TestPlayed(t *testing.T) {
	judgeStories(t, Completed, []row{
		{"a trial that came to its end", "opened 1 9\nacquire 1 5 0 10", Pass, ""},
		{"a trial that did not", "opened 1 9\nacquire 1 5 0 10\nunplayed 20 the subject does not fit", Unknown, "the subject does not fit"},
	})
	judgeStories(t, MutualExclusion, []row{
		{"what was played is judged", "opened 1 9\nopened 2 8\nacquire 1 5 0 10\nacquire 2 6 0 10\nunplayed 20 why", Fail, ""},
	})
}
