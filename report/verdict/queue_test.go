package verdict

import "testing"

func TestQueue(t *testing.T) {
	const drained = "\nphase drain 500 900\n"
	for _, c := range []struct {
		guarantee string
		telling
	}{
		{NoPhantom, telling{"what was put may be taken", "put a 1\ntake a 2", Pass, ""}},
		{NoPhantom, telling{"a take may be recorded before its put", "take a 2\nput a 1", Pass, ""}},
		{NoPhantom, telling{"what nobody put is a phantom", "put a 1\ntake b 2", Fail, `item "b" was taken (record 2) and never put`}},
		{NoPhantom, telling{"what was put without success is a phantom", "put a 1 failed\ntake a 2", Fail, "never put"}},
		{NoPhantom, telling{"a put without a reply may have put", "put a 1 unknown\ntake a 2", Pass, ""}},
		{NoDuplicate, telling{"two deliveries of an item are a duplicate", "put a 1\ntake a 2\ntake a 3", Fail, `item "a" was delivered twice, records 2 and 3`}},
		{NoDuplicate, telling{"a take without a reply delivered nothing for sure", "put a 1\ntake a 2\ntake a 3 unknown", Pass, ""}},
		{NoDuplicate, telling{"a put without a reply may have put twice", "take a 2\ntake a 3\nput a 1 unknown", Pass, ""}},
		{NoDuplicate, telling{"another put without a reply may have put again what was taken", "put a 1\ntake a 2\nput a 3 unknown\ntake a 4", Pass, ""}},
		{NoDuplicate, telling{"another put that is certain is no excuse", "put a 1\ntake a 2\nput a 3\ntake a 4", Fail, "records 2 and 4"}},
		{NoDuplicate, telling{"of three deliveries the last two are told", "put a 1\ntake a 2\ntake a 3\ntake a 4", Fail, "records 3 and 4"}},
		{NoPhantom, telling{"what was taken before anybody put it, twice, is no phantom", "take a 2\ntake a 3\nput a 1", Pass, ""}},
		{NoLoss, telling{"without a put nothing can be lost", "take a 2" + drained, Unknown, "nothing was ever put and taken"}},
		{NoLoss, telling{"without a take nothing is shown", "put a 1" + drained, Unknown, "nothing was ever put and taken"}},
		{NoLoss, telling{"takes without a reply explain only as many items", "put a 1\nput b 1\nput c 1\ntake a 2\ntake - 3 unknown" + drained, Fail, "1 takes without a reply explain only as many of the 2"}},
		{NoLoss, telling{"all that was put was taken", "put a 1\ntake a 2" + drained, Pass, ""}},
		{NoLoss, telling{"an item that is missing after draining is lost", "put a 1\nput b 1\ntake a 2" + drained, Fail, `item "b" was put (record 2)`}},
		{NoLoss, telling{"an item that is missing when the queue is empty is lost", "put a 1\nput b 1\ntake a 2\nemptied 3", Fail, `item "b" was put (record 2)`}},
		{NoLoss, telling{"what was put after the queue was empty may still be in it", "put a 1\ntake a 2\nemptied 3\nput b 4", Unknown, "not drained"}},
		{NoLoss, telling{"what was put after the drain may still be in it", "put a 1\ntake a 2" + drained + "put b 901", Unknown, "not drained"}},
		{NoLoss, telling{"an item may still be in a queue that was not drained", "put a 1\nput b 1\ntake a 2", Unknown, "not drained"}},
		{NoLoss, telling{"a take without a reply may have taken it", "put a 1\nput b 1\ntake a 2\ntake - 3 unknown" + drained, Unknown, "1 takes had no reply"}},
		{NoLoss, telling{"an item that a take handed over with a doubt is not lost", "put a 1\nput b 1\ntake a 2\ntake b 3 unknown" + drained, Pass, ""}},
		{NoLoss, telling{"a phase that is called like an item has deleted nothing", "put a 1\nput b 1\ntake a 2\ntake - 3 unknown\nphase b 3 4\nemptied 5", Unknown, "1 takes had no reply"}},
		{NoLoss, telling{"a put without a reply need not be found", "put a 1\nput b 1 unknown\ntake a 2" + drained, Pass, ""}},
		{MutualExclusion, telling{"a queue has no holders to judge", "put a 1\ntake a 2", "", ""}},
	} {
		judgeStories(t, c.guarantee, []telling{c.telling})
	}
}
