package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// ticketLock is a lock of one's own. Its clients draw numbered tickets, and each watches
// the ticket before its own.
type ticketLock struct {
	conn   *zk.Conn
	events <-chan zk.Event
	parent string
	ticket string
}

// openTicketLock opens a client, with a session of its own.
func openTicketLock(ctx context.Context, env recipes.Env) (recipes.Client, error) {
	conn, events, err := zk.Connect(env.Servers, env.Timeout, zk.WithDialer(env.Dial), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for conn.State() != zk.StateHasSession {
		select {
		case <-events:
		case <-ctx.Done():
			conn.Close()
			return nil, ctx.Err()
		}
	}
	return &ticketLock{conn: conn, events: events, parent: env.Parent}, nil
}

func (l *ticketLock) Acquire(ctx context.Context) (recipes.Claim, error) {
	node, err := l.conn.Create(l.parent+"/ticket-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		return recipes.Claim{}, err
	}
	l.ticket = node
	for {
		tickets, _, err := l.conn.Children(l.parent)
		if err != nil {
			return recipes.Claim{}, err
		}
		slices.Sort(tickets)
		i := slices.IndexFunc(tickets, func(t string) bool { return l.parent+"/"+t == node })
		if i == 0 {
			_, stat, err := l.conn.Exists(node)
			return recipes.Claim{Token: stat.Czxid, Session: l.conn.SessionID(), Path: node}, err
		}
		ahead, _, gone, err := l.conn.ExistsW(l.parent + "/" + tickets[i-1])
		if err != nil {
			return recipes.Claim{}, err
		}
		if !ahead {
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return recipes.Claim{}, errors.Join(ctx.Err(), l.Release(context.WithoutCancel(ctx)))
		}
	}
}

func (l *ticketLock) Release(context.Context) error { return l.conn.Delete(l.ticket, -1) }

func (l *ticketLock) Close(context.Context) error {
	l.conn.Close()
	for range l.events { // closed once the library's goroutines have ended
	}
	return nil
}

func init() {
	recipes.Register(recipes.Subject{Name: "lock/ticket", Recipe: recipes.RecipeLock, About: "a lock of our own", Open: openTicketLock})
}

// A lock of one's own is measured in the program that has it: five clients stand in line,
// and the line drains.
func ExampleRun() {
	scenario, err := spec.Load("ticket.yaml", []byte(`
name: ticket
subjects: [lock/ticket]
clients: [5]
session_timeout: 10s
phases:
  - {name: drain, kind: drain, rounds: 2, hold: 1ms}
thresholds:
  - verdicts.mutual-exclusion == pass
  - fanout.notifications <= 1
`))
	if err != nil {
		log.Fatal(err)
	}
	result, err := scenarios.Run(context.Background(), scenarios.Config{
		Scenario: scenario,
		Ensemble: ensembles.Options{Kind: ensembles.Process},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, trial := range result.Result.Trials {
		for _, t := range trial.Thresholds {
			fmt.Printf("%s: %s is a %s\n", trial.Subject, t.Expr, t.Result)
		}
		fmt.Printf("one hand-off wakes %v client\n", *trial.Metrics["fanout.notifications"].Value)
	}
	// Output:
	// lock/ticket: verdicts.mutual-exclusion == pass is a pass
	// lock/ticket: fanout.notifications <= 1 is a pass
	// one hand-off wakes 1 client
}
