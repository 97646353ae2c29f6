package metrics

import "github.com/zkbench/zkbench/report/history"

type fanout struct {
	ignored
	notifications, requests, bytes, flaps ratio
}

func (x *fanout) record(r history.Record) {
	t, ok := r.(*history.Traffic)
	if !ok {
		return
	}
	switch t.Of {
	case history.OfHandoff:
		x.notifications.add(t.Count, t.Notifications, t.ExpectedNotifications, t.ServerNotifications)
		x.requests.add(t.Count, t.Requests, t.ExpectedRequests, nil)
		x.bytes.add(t.Count, t.Bytes, nil, nil)
	case history.OfFlap:
		x.flaps.add(t.Count, t.Notifications, t.ExpectedNotifications, t.ServerNotifications)
	}
}

func (x *fanout) close(out map[string]Metric) {
	x.notifications.close(out, FanoutNotifications)
	x.requests.close(out, FanoutRequests)
	x.bytes.close(out, FanoutBytes)
	x.flaps.close(out, FlapNotifications)
}

type ratio struct {
	times, count, expectedTimes, expected, serverTimes, servers int64
}

// add adds a round; expected and servers are nil if unknown.
func (r *ratio) add(times, count int64, expected, servers *int64) {
	if times <= 0 {
		return
	}
	r.times, r.count = r.times+times, r.count+count
	if expected != nil {
		r.expectedTimes, r.expected = r.expectedTimes+times, r.expected+*expected
	}
	if servers != nil {
		r.serverTimes, r.servers = r.serverTimes+times, r.servers+*servers
	}
}

func (r *ratio) close(out map[string]Metric, name string) {
	if r.times == 0 {
		return
	}
	per := func(n, times int64) *float64 {
		if times == 0 {
			return nil
		}
		return new(float64(n) / float64(times))
	}
	d, _, _ := Find(name)
	out[name] = Metric{
		Unit: d.Unit, Count: &r.times, Value: per(r.count, r.times),
		Expected: per(r.expected, r.expectedTimes), Servers: per(r.servers, r.serverTimes),
	}
}
