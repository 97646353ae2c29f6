package verdict

import "testing"

func TestQueue(t *testing.T) {
	const drained = "\nemptied 900\n"
	for _, c := range []struct {
		guarantee string
		row
	}{
		{NoPhantom, row{"what was put may be taken", "put a 1\ntake a 2", Pass, ""}},
		{NoPhantom, row{"a take may be recorded before its put", "take a 2\nput a 1", Pass, ""}},
		{NoPhantom, row{"what nobody put is a phantom", "put a 1\ntake b 2", Fail, `item "b" was taken (record 2) but never put`}},
		{NoPhantom, row{"what was put without success is a phantom", "put a 1 failed\ntake a 2", Fail, "never put"}},
		{NoPhantom, row{"a put without a reply may have put", "put a 1 unknown\ntake a 2", Pass, ""}},
		{NoDuplicate, row{"two deliveries of an item are a duplicate", "put a 1\ntake a 2\ntake a 3", Fail, `item "a" was delivered twice, records 2 and 3`}},
		{NoDuplicate, row{"a take without a reply delivered nothing for sure", "put a 1\ntake a 2\ntake a 3 unknown", Pass, ""}},
		{NoDuplicate, row{"a put without a reply may have put twice", "take a 2\ntake a 3\nput a 1 unknown", Pass, ""}},
		{NoDuplicate, row{"another put without a reply may have put again what was taken", "put a 1\ntake a 2\nput a 3 unknown\ntake a 4", Pass, ""}},
		{NoDuplicate, row{"another put that is certain is no excuse", "put a 1\ntake a 2\nput a 3\ntake a 4", Fail, "records 2 and 4"}},
		{NoDuplicate, row{"of three deliveries the last two are cited", "put a 1\ntake a 2\ntake a 3\ntake a 4", Fail, "records 3 and 4"}},
		{NoPhantom, row{"what was taken before anybody put it, twice, is no phantom", "take a 2\ntake a 3\nput a 1", Pass, ""}},
		{NoLoss, row{"without a put nothing can be lost", "take a 2" + drained, Unknown, "no items were ever put and taken"}},
		{NoLoss, row{"without a take nothing is shown", "put a 1" + drained, Unknown, "no items were ever put and taken"}},
		{NoLoss, row{"takes without a reply explain only as many items", "put a 1\nput b 1\nput c 1\ntake a 2\ntake - 3 unknown" + drained, Fail, "1 takes without a reply can explain at most as many of the 2"}},
		{NoLoss, row{"all that was put was taken", "put a 1\ntake a 2" + drained, Pass, ""}},
		{NoLoss, row{"an item that is missing after the queue was emptied is lost", "put a 1\nput b 1\ntake a 2" + drained, Fail, `item "b" was put (record 2)`}},
		{NoLoss, row{"an item that is missing when the queue is empty is lost", "put a 1\nput b 1\ntake a 2\nemptied 3", Fail, `item "b" was put (record 2)`}},
		{NoLoss, row{"nor can what was being put then be missed", "put b 5\ntake b 6\nput a 20 called=10\nemptied 15", Unknown, "not drained"}},
		{NoLoss, row{"what was put after the queue was empty may still be in it", "put a 1\ntake a 2\nemptied 3\nput b 4", Unknown, "not drained"}},
		{NoLoss, row{"what was put after the drain may still be in it", "put a 1\ntake a 2" + drained + "put b 901", Unknown, "not drained"}},
		{NoLoss, row{"an item may still be in a queue that was not drained", "put a 1\nput b 1\ntake a 2", Unknown, "not drained"}},
		{NoLoss, row{"a take without a reply may have taken it", "put a 1\nput b 1\ntake a 2\ntake - 3 unknown" + drained, Unknown, "1 takes had no reply"}},
		{NoLoss, row{"an item that a take handed over with a doubt is not lost", "put a 1\nput b 1\ntake a 2\ntake b 3 unknown" + drained, Pass, ""}},
		{NoLoss, row{"a phase that is called like an item has deleted nothing", "put a 1\nput b 1\ntake a 2\ntake - 3 unknown\nphase b 3 4\nemptied 5", Unknown, "1 takes had no reply"}},
		{NoLoss, row{"a put without a reply need not be found", "put a 1\nput b 1 unknown\ntake a 2" + drained, Pass, ""}},
		{MutualExclusion, row{"a queue has no holders to judge", "put a 1\ntake a 2", "", ""}},
	} {
		judgeStories(t, c.guarantee, []row{c.row})
	}
}
