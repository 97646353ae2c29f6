package spec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// refused fails the test unless a scenario is refused with an error that contains want; without want it must load.
func refused(t *testing.T, want, text string, overrides ...string) {
	t.Helper()
	if _, err := spec.Load("x", []byte(text), overrides...); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s\ngot %v, want %q in it", text, err, want)
	}
}

func TestKind_refusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		name, subject string
		clients, kind string
		want          string // part of the error; empty: none
	}{
		{"a succession", "election/parent", "8", "{kind: succession, rounds: 1, leave: resign, order: [0, 1], hold: 0s}", ""},
		{"a succession of locks", "lock/parent", "2", "{kind: succession, rounds: 1, leave: expire, order: [1], hold: 0s}", ""},
		{"a queue has no leaders", "queue/parent", "8", "{kind: succession, rounds: 1, leave: resign, order: [0], hold: 0s}", "does not grant anything; a succession phase requires a lock or an election"},
		{"an unknown way to leave has a nearest known one", "election/parent", "8", "{kind: succession, rounds: 1, leave: loose, order: [0], hold: 0s}", `did you mean "lose"`},
		{"somebody must leave", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, hold: 0s}", "order: is required"},
		{"nobody leaves twice", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, order: [1, 1], hold: 0s}", "is not a valid client number, or occurs twice"},
		{"who leaves must be there", "election/parent", "2, 8", "{kind: succession, rounds: 1, leave: lose, order: [2], hold: 0s}", "2 is less than 3: clients are numbered from 0, and order lists the last"},
		{"a succession needs rounds", "election/parent", "8", "{kind: succession, leave: lose, order: [0], hold: 0s}", "rounds: 0 is not between"},
		{"a succession has no faults of its own choice", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, order: [0], hold: 0s, faults: [{at: 0s, fault: session.close}]}", "faults"},
		{"flaps", "queue/predecessor", "2", "{kind: flap, rounds: 1, hold: 0s}", ""},
		{"somebody must be left to see a flap", "lock/parent", "1", "{kind: flap, rounds: 1, hold: 0s}", "a flap requires other clients that wait"},
		{"flaps end when their rounds are done", "lock/parent", "2", "{kind: flap, rounds: 1, duration: 1s, hold: 0s}", "applies only to phases of kind churn"},
		{"a stream", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 0.5, size: 100, hold: 0s}", ""},
		{"a stream of acquires", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, arrivals: poisson, hold: 0s}", ""},
		{"a ramp", "election/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 40, steps: 2, hold: 0s}", ""},
		{"a lock takes no items", "lock/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 1, hold: 0s}", "does not have producers"},
		{"a ramp rises", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 20, hold: 0s}", "rate_to: 20 per second: want more than rate (20)"},
		{"what is no ramp has no steps", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, steps: 2, hold: 0s}", "steps: requires rate_to"},
		{"one step is no ramp", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 30, steps: 1, hold: 0s}", "steps: 1 is not between"},
		{"a ramp is undisturbed", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 30, hold: 0s, faults: [{at: 0s, fault: session.close}]}", "faults: a ramp cannot have faults"},
		{"nobody could judge so many", "lock/parent", "1", "{kind: stream, duration: 1m, rate: 1, rate_to: 50000, hold: 0s}", "rate: about 1500030 operations would be due"},
		{"an unknown way to arrive", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 1, arrivals: uniform, hold: 0s}", "is neither constant nor poisson"},
		{"a stream needs producers", "queue/parent", "1", "{kind: stream, duration: 1s, rate: 1, hold: 0s}", "producers: 0 is not between"},
		{"a stream needs a rate", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, hold: 0s}", "rate: 0 per second"},
		{"not a number is no rate", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: .nan, hold: 0s}", "rate: NaN"},
		{"a stream runs for a time", "queue/parent", "1", "{kind: stream, producers: 1, rate: 1, rounds: 3, hold: 0s}", "applies only to phases of kind drain"},
		{"an item must fit into a znode", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 1, size: 2000000, hold: 0s}", "size: 2000000 is not between"},
		{"a churn has no rate", "queue/parent", "1", "{kind: churn, duration: 1s, rate: 5, hold: 0s}", "applies only to phases of kind stream"},
		{"a churn has no cause", "lock/parent", "2", "{kind: churn, duration: 1s, cause: crash, hold: 0s}", "applies only to phases of kind failover"},
		{"a queue grants nothing", "queue/parent", "2", "{kind: failover, rounds: 1, cause: crash, hold: 0s}", "does not grant anything"},
		{"somebody must succeed the holder", "lock/parent", "1", "{kind: failover, rounds: 1, cause: crash, hold: 0s}", "1 is less than 2: the holder requires a successor"},
		{"sessions that are only opened", "queue/parent", "1", "{kind: connect, duration: 1s, hold: 0s}", ""},
		{"a connect lasts", "lock/parent", "1", "{kind: connect, hold: 0s}", "duration: 0s is not between"},
		{"nobody contends in a connect", "lock/parent", "3", "{kind: connect, duration: 1s, contenders: 2, hold: 0s}", "contenders: applies only to phases of kind churn"},
		{"some of many contend", "lock/parent", "3", "{kind: churn, duration: 1s, contenders: 3, hold: 0s}", ""},
		{"contenders are clients", "lock/parent", "3, 8", "{kind: churn, duration: 1s, contenders: 4, hold: 0s}", "3 is less than 4: contenders are among the clients"},
		{"not fewer than none", "lock/parent", "3", "{kind: churn, duration: 1s, contenders: -1, hold: 0s}", "contenders: -1 is not between"},
		{"a drain has no order", "lock/parent", "3", "{kind: drain, rounds: 1, order: [0], hold: 0s}", "applies only to phases of kind succession"},
		{"a cause and rounds are all it needs", "lock/parent", "4", "{kind: failover, cause: crash, rounds: 3, hold: 1ms}", ""},
		{"no rounds leave it out", "lock/parent", "4", "{kind: failover, cause: leader.kill, rounds: 0, hold: 1ms}", ""},
		{"the cause must be one", "lock/parent", "4", "{kind: failover, cause: crush, rounds: 3, hold: 1ms}", `did you mean "crash"`},
		{"the cause is the fault", "lock/parent", "4", "{kind: failover, cause: crash, rounds: 1, faults: [{at: 0s, fault: session.close}], hold: 1ms}", "faults: applies only to phases of kind churn"},
		{"rounds end it, not a time", "lock/parent", "4", "{kind: failover, cause: crash, rounds: 1, duration: 3s, hold: 1ms}", "applies only to phases of kind churn"},
		{"rounds are not negative", "lock/parent", "4", "{kind: failover, cause: crash, rounds: -1, hold: 1ms}", "-1 is not between 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, c.want, fmt.Sprintf("{name: x, subjects: [%s], clients: [%s], session_timeout: 4s, phases: [%s]}",
				c.subject, c.clients, strings.Replace(c.kind, "{", "{name: p, ", 1)))
		})
	}
}

func TestShares_areForTheirRecipes(t *testing.T) {
	for _, row := range []struct{ subject, more, phase, want string }{
		{"semaphore/parent", "permits: 3", "kind: churn, duration: 1s", ""},
		{"lock/parent", "permits: 3", "kind: churn, duration: 1s", "permits: no subject is a semaphore"},
		{"semaphore/parent", "mix: {read: 1, write: 1}", "kind: churn, duration: 1s", "mix: no subject is a read-write lock"},
		{"rwlock/parent", "mix: {read: 9, write: 1}", "kind: churn, duration: 1s", ""},
		{"rwlock/parent", "mix: {read: -9, write: 1}", "kind: churn, duration: 1s", "mix.read: -9 is not between"},
		{"semaphore/parent", "permits: 2", "kind: failover, rounds: 1, cause: crash", "set permits to 1"},
		{"semaphore/parent", "permits: 1", "kind: failover, rounds: 1, cause: crash", ""},
	} {
		refused(t, row.want, fmt.Sprintf("{name: x, subjects: [%s], clients: [4], session_timeout: 4s, %s, phases: [{name: p, hold: 1ms, %s}]}",
			row.subject, row.more, row.phase))
	}
}

// faulty is a scenario with one fault.
func faulty(clients, fault string) string {
	return "{name: x, subjects: [lock/parent], clients: " + clients + ", session_timeout: 4s, phases: [" +
		"{name: p, kind: churn, duration: 10s, hold: 1ms, faults: [" + fault + "]}]}"
}

func TestFault_isRefusedWhereItMakesNoSense(t *testing.T) {
	for _, row := range []struct{ name, fault, want string }{
		{"a fault at a time is fine", "{at: 1s, fault: session.close}", ""},
		{"one that repeats is fine", "{at: 1s, every: 1s, times: 3, jitter: 200ms, fault: session.close}", ""},
		{"one at an event is fine", "{on: client 2 holds, fault: session.close}", ""},
		{"after the phase is too late", "{at: 11s, fault: session.close}", "11s is not within the phase"},
		{"it must be healed in time", "{at: 9s, for: 2s, fault: session.freeze}", "must be healed before the phase ends"},
		{"an event must be one", "{on: full moon, fault: session.close}", `"full moon" is not an event`},
		{"a repetition must leave time", "{at: 1s, every: 1ms, fault: session.close}", "1ms is less than 10ms"},
		{"times needs every", "{at: 1s, times: 3, fault: session.close}", "requires every"},
		{"jitter varies no more than there is", "{at: 1s, every: 1s, jitter: 2s, fault: session.close}", "2s is not between 0s and 1s"},
		{"jitter must stay in the phase", "{at: 9s, jitter: 2s, fault: session.close}", "2s after 9s is not within the phase"},
		{"times are not negative", "{at: 1s, every: 1s, times: -1, fault: session.close}", "-1 is not between"},
		{"the fault must exist", "{at: 1s, fault: session.cloze}", `did you mean "session.close"`},
		{"the last client", `{at: 1s, fault: session.close, target: "2"}`, ""},
		{"one beyond the last", `{at: 1s, fault: session.close, target: "3"}`, "target: there is no client 3: the smallest trial has 3 clients, numbered 0 to 2"},
		{"one beyond the last, as it is also written", "{at: 1s, fault: session.close, target: client 7}", "target: there is no client 7"},
		{"the member of one beyond the last", "{at: 1s, fault: member.kill, target: member of 7}", "target: there is no client 7"},
		{"a client by its part", "{at: 1s, fault: session.close, target: waiter}", ""},
		{"an event of one beyond the last", "{on: client 3 holds, fault: session.close}", "on: there is no client 3"},
	} {
		t.Run(row.name, func(t *testing.T) { refused(t, row.want, faulty("[5, 3]", row.fault)) })
	}
}

func TestProblems_thatFollowFromOthersAreNotSaid(t *testing.T) {
	for _, row := range []struct{ name, text, want, not string }{
		{"a time before the phase", faulty("[3]", "{at: -1s, fault: session.close}"), "-1s is not within the phase", "jitter"},
		{"fewer clients than none", faulty("[-5]", "{at: 1s, fault: session.close}"), "-5 is not between 1 and", "contenders"},
	} {
		refused(t, row.want, row.text)
		if _, err := spec.Load("x", []byte(row.text)); strings.Contains(err.Error(), row.not) {
			t.Errorf("%s: got %v, want no %q in it", row.name, err, row.not)
		}
	}
}

func TestValidate_faultsOfProcesses(t *testing.T) {
	const churn = `
clients: [3]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 1s, faults: [{at: 0s, fault: client.kill}]}]
`
	restarted := func(as string) string {
		return "name: x\nsubjects: [" + `{name: lock/mine, exec: "` + os.Args[0] + `"}` + "]\nclients: [3]\nsession_timeout: 1s\n" +
			"phases: [{name: churn, kind: churn, duration: 1s, faults: [{at: 0s, fault: client.restart, params: {as: " + as + "}}]}]"
	}
	moved := func(faults string) string {
		return "name: x\nsubjects: [lock/parent]\napart: true\nclients: [3]\nsession_timeout: 1s\nphases: [{name: churn, kind: churn, duration: 5s, faults: [" + faults + "]}]"
	}
	for _, row := range []struct{ text, want string }{
		{"name: x\nsubjects: [lock/parent]" + churn, "client.kill: needs clients in other processes, but lock/parent runs inside zkbench; run it in processes of its own: --set apart=true"},
		{"name: x\nsubjects: [lock/parent]\napart: true" + churn, ""},
		{"name: x\nsubjects: [" + `{name: lock/mine, exec: "` + os.Args[0] + `"}` + "]" + churn, ""},
		{restarted("lock/predecessor"), "lock/predecessor runs inside zkbench and has no process that could replace a process of lock/mine: name a driver"},
		{restarted("queue/kazoo"), "queue/kazoo cannot replace lock/mine: the first is a queue, the second a lock"},
		{restarted("lock/curater"), `unknown subject "lock/curater"; did you mean "lock/curator"?`},
		{restarted("lock/kazoo"), ""},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: p, kind: failover, cause: pause, rounds: 1}]", "client.pause: needs clients in other processes"},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: e, kind: episode, cells: [\"holder hold #1/client.pause\"]}]", "client.pause: needs clients in other processes"},
		{moved("{at: 1s, fault: member.move}"), ""},
		{strings.Replace(moved("{at: 1s, fault: member.move}"), "apart: true\n", "", 1), "member.move: needs clients in other processes, but lock/parent runs inside zkbench"},
		{moved("{at: 1s, fault: member.move, params: {known: list}}"), "no client could connect after the last move"},
		{moved("{at: 1s, fault: member.move, target: leader, params: {known: list}}"), ""},
		{moved("{at: 1s, fault: member.move}, {at: 2s, fault: member.move, target: any, params: {known: list}}"), "all member.move of a scenario must agree"},
	} {
		refused(t, row.want, row.text)
	}
}

func TestZoo_refusesWhatCannotBePlayed(t *testing.T) {
	const phase = "{name: p, kind: episode, hold: 0s}"
	for _, c := range []struct{ name, phases, specimen, want string }{
		{"what can be played", phase, "{subject: lock/parent, cell: 'next create #1/reply.drop'}", ""},
		{"an unknown fault", phase, "{subject: lock/parent, cell: 'next create #1/reply.dropp'}", `did you mean "reply.drop"`},
		{"an unknown cell of the whole line", phase, "{subject: lock/parent, cell: all/crowds}", `did you mean "crowd"`},
		{"no cell", phase, "{subject: lock/parent, cell: crowd}", `"crowd" is not a step`},
		{"a role of queues", phase, "{subject: lock/parent, cell: 'first delete #1/reply.drop'}", "has no role first; its roles are holder, next, third"},
		{"a backlog of a lock", phase, "{subject: lock/parent, cell: all/backlog}", "does not apply to lock/parent"},
		{"who cannot be called off", phase, "{subject: lock/go-zookeeper, cell: 'next create #1/cancel'}", "cannot be cancelled"},
		{"a member that others use", phase, "{subject: lock/parent, cell: 'next create #1/member.kill'}", "affects a member that other trials use at the same time: run it with audit"},
		{"another kind of phase", "{name: p, kind: drain, rounds: 1, hold: 0s}", "{subject: lock/parent, cell: every}", "a zoo has one phase, of kind episode"},
		{"an episode beside another phase", phase + "\n  - {name: q, kind: episode, hold: 0s}", "{subject: lock/parent, cell: every}", "must be the only phase of a scenario"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, c.want, "name: x\nsession_timeout: 4s\nphases:\n  - "+c.phases+"\nspecimens:\n  - "+c.specimen+"\n")
		})
	}
}

// What can be said in two ways means one thing, and what would do nothing is refused, in the file and in flags.
func TestLoad_refuses(t *testing.T) {
	const drain = "session_timeout: 4s\nname: x\nsubjects: [lock/parent, lock/predecessor]\nclients: [2]\n" +
		"phases: [{name: p, kind: drain, rounds: 1, hold: 1ms}]\n"
	herd, audit := source("herd"), source("audit")
	for _, row := range []struct {
		name, text string
		overrides  []string
		want       string // part of the error; empty: none
	}{
		{"a field that is there", drain, []string{"clients=[3, 4]"}, ""},
		{"a field that is not there yet", drain, []string{"about=a test"}, ""},
		{"a phase by its number", drain, []string{"phases.0.rounds=2"}, ""},
		{"a phase by its name", drain, []string{"phases.p.rounds=2"}, ""},
		{"an unknown field", drain, []string{"phases.0.round=2"}, `phases.0.round: there is no such field; did you mean "rounds"?`},
		{"an unknown phase", drain, []string{"phases.churn.rounds=2"}, `"churn" is neither the name of an item nor an index from 0 to 0`},
		{"a duration without a unit", drain, []string{"session_timeout=4"}, "session_timeout: 4 has no unit; is it 4ms or 4s?"},
		{"a hold of all phases", drain, []string{"hold=5ms"}, ""},
		{"a duration of all phases that have one", drain, []string{"duration=5s"}, ""},
		{"a hold that is none", drain, []string{"hold=5"}, "hold: \"5\" is not a duration"},
		{"a threshold that is misspelt", drain, []string{"thresholds=[handof.latency.p99 < 1s]"}, "handof"},
		{"a threshold on a parameter that is not there", drain, []string{"thresholds=[handoff.latency.p99 < promise]"}, "no parameter"},
		{"no path", drain, []string{"=4"}, "want path=value"},
		{"a value that is no YAML", drain, []string{"about=["}, "the value is not YAML"},
		{"one field of the matrix by two names", drain + "matrix: {phases.0.rounds: [1, 2], phases.p.rounds: [3, 4]}", nil, "matrix.phases.p.rounds: is the same field as matrix.phases.0.rounds"},
		{"a field of a phase and of all", drain + "matrix: {hold: [0s, 1ms], phases.p.hold: [2ms, 3ms]}", nil, "is already set by matrix.hold, which applies to all phases"},
		{"values that make one name", drain + `matrix: {params.x: ["a b", a_b]}`, nil, "give trials the same name"},
		{"a flag for one phase of what the matrix has for all", drain + "matrix: {hold: [0s, 1ms]}", []string{"phases.p.hold=2ms"}, "the matrix varies the hold of all phases"},
		{"a parameter by the name of a setting", drain + "params: {session_timeout: 1h}", nil, "params.session_timeout: is the name of a setting"},
		{"a parameter by that of a formula", drain + "params: {expected: '7'}", nil, "params.expected: is the name of a setting"},
		{"a parameter that compares with nothing", drain + "params: {n: '5'}\nthresholds: [handoff.latency.p50 < n]", nil, "cannot be compared with the metric"},
		{"a program that nobody plays", drain, []string{"exec=lock/mine=cat"}, "lock/mine is not among the subjects"},
		{"a name that is no word", drain, []string{`name="a\nb"`}, "name: "},
		{"a phase that is a number", drain, []string{`phases.0.name="0"`}, "not a number"},
		{"two subjects, ten trials, a base", herd, []string{"trials=10", "base=lock/parent"}, ""},
		{"repeating needs no base", herd, []string{"trials=10"}, ""},
		{"a negative number of trials", herd, []string{"trials=-1"}, "trials: -1 is not between"},
		{"a base that is misspelt", herd, []string{"trials=10", "base=lock/parnet"}, `did you mean "lock/parent"`},
		{"a base that is no subject of the run", herd, []string{"trials=10", "base=lock/go-zookeeper"}, "lock/go-zookeeper is not among the subjects"},
		{"a base with nothing beside it", herd, []string{"trials=10", "base=lock/parent", "subjects=[lock/parent]"}, "no other subject"},
		{"a budget that cuts repetitions short", herd, []string{"trials=10", "budget=30s"}, ""},
		{"a budget with nothing to cut", herd, []string{"trials=3", "budget=30s"}, "set trials to a larger number"},
		{"a budget below nothing", herd, []string{"trials=10", "budget=-1s"}, "budget: -1s is not between"},
		{"a base without trials", herd, []string{"base=lock/parent"}, "requires several trials"},
		{"an audit of every step", herd, []string{"trials=10", "clients=[3]", "phases=[{name: e, kind: episode}]"}, "phases.0.cells"},
		{"cells of an audit", herd, []string{"trials=10", "clients=[3]", "phases=[{name: e, kind: episode, cells: [all/crowd]}]"}, ""},
		{"containers and local JVMs", drain, []string{"images=[a]", "homes=[b]"}, "homes: homes and images cannot be combined"},
		{"an empty entry", drain, []string{"images=[a, '']"}, "images: does not name an image or a folder"},
		{"a name without an image", drain, []string{"images=[a=]"}, "images: does not name an image or a folder"},
		{"a name that is no word", drain, []string{"homes=['/opt/my zk']"}, `homes: "my zk" cannot be the name of a version`},
		{"the same twice", drain, []string{"images=[a, a]"}, "images: another version is already named a; rename one: NAME=IMAGE"},
		{"two folders with the same last part", drain, []string{"homes=[/a/zk, /b/zk]"}, "homes: another version is already named zk"},
		{"two names that make one name of a trial", drain, []string{"images=['a:b', a_b]"}, "images: another version is already named a_b"},
		{"varied by the matrix", drain, []string{"matrix.images=[a, b]"}, "matrix.images: cannot be varied in a matrix: list the values in images itself"},
		{"a parameter of that name", drain, []string{"images=[a, b]", "params={version: 3}"}, "params.version: distinguishes the trials of several versions"},
		{"a comparison on an ensemble that changes", drain, []string{"phases=[{name: up, kind: churn, duration: 5s, faults: [{at: 1s, fault: member.upgrade}]}]",
			"base=lock/parent", "trials=10"}, "base: an upgrade affects all trials on the ensemble"},
		{"an audit of two versions", audit, []string{"images=[a, b]"}, "run it once for each"},
	} {
		t.Run(row.name, func(t *testing.T) {
			refused(t, row.want, row.text, row.overrides...)
			if _, err := spec.Load("x", []byte(row.text), row.overrides...); err != nil && strings.Contains(err.Error(), "x:1:") {
				t.Errorf("it blames a line of the file for what a flag has: %v", err)
			}
		})
	}
}

func TestScenario_refusesWhatWouldBeSomethingElse(t *testing.T) {
	const text = "{name: x, subjects: [rwlock/parent], clients: [3], session_timeout: 4s, phases: [{name: p, kind: churn, duration: 1s, hold: 1ms}]}"
	refused(t, "", text)
	for override, want := range map[string]string{
		"clients=[010]":                           `clients: "010" is not a whole number`,
		"mix={read: 0, write: 0}":                 "mix: want a share of read or write above 0",
		"matrix={hold: [1ms, 1000us]}":            "matrix.hold: 1000us occurs twice",
		"matrix={hold: [1ms, 1ms]}":               "matrix.hold: 1ms occurs twice",
		"matrix={hold: [1ms, 2ms]}":               "",
		"thresholds=[acquire.latency.p50 < -1ms]": "no metric is below 0",
	} {
		refused(t, want, text, override)
	}
	refused(t, `subjects: lock/a/b: its trials would have the names of another subject's trials`, `{name: x, clients: [2], session_timeout: 4s,
		subjects: [{name: lock/a-b, exec: ./a}, {name: lock/a/b, exec: ./b}], phases: [{name: p, kind: churn, duration: 1s, hold: 1ms}]}`)
}

func TestPhase_namesAreUnique(t *testing.T) {
	refused(t, "x:2:64: phases.1.name: another phase is already named a", `{name: x, subjects: [lock/parent], clients: [2], session_timeout: 4s,
		phases: [{name: a, kind: drain, rounds: 1, hold: 0s}, {name: a, kind: churn, duration: 1s, hold: 0s}]}`)
}

// Each value is right alone, but a fault at 6s is not within a phase of 4s.
func TestScenario_validateMatrix_choicesThatOnlyTogetherAreWrong(t *testing.T) {
	refused(t, "6s is not within the phase (0 to 4s)", `{name: together, subjects: [lock/parent], clients: [2], session_timeout: 4s,
		matrix: {phases.0.duration: [10s, 4s], phases.0.faults.0.at: [1s, 6s]},
		phases: [{name: churn, kind: churn, duration: 10s, hold: 0s, faults: [{at: 1s, fault: session.close, target: holder}]}]}`)
}
