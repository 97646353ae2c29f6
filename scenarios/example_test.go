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
	*recipes.Session
	parent, ticket string
}

// openTicketLock opens a client, with a session of its own.
func openTicketLock(ctx context.Context, env recipes.Env) (recipes.Client, error) {
	s, err := recipes.Open(ctx, env.Servers, recipes.Options{Timeout: env.Timeout, Dial: env.Dial})
	return &ticketLock{Session: s, parent: env.Parent}, err
}

func (l *ticketLock) Acquire(ctx context.Context) (recipes.Claim, error) {
	node, err := l.Create(ctx, l.parent+"/ticket-", nil, zk.FlagEphemeral|zk.FlagSequence)
	if err != nil {
		return recipes.Claim{}, err
	}
	l.ticket = node
	for {
		tickets, err := l.List(ctx, l.parent)
		if err != nil {
			return recipes.Claim{}, err
		}
		slices.Sort(tickets)
		i := slices.IndexFunc(tickets, func(t string) bool { return l.parent+"/"+t == node })
		if i == 0 {
			stat, err := l.Exists(ctx, node)
			if err != nil || stat == nil {
				return recipes.Claim{}, errors.Join(err, l.Err())
			}
			return recipes.Claim{Token: stat.Czxid, Session: l.ID(), Path: node}, nil
		}
		if err := l.AwaitGone(ctx, l.parent+"/"+tickets[i-1]); err != nil {
			return recipes.Claim{}, errors.Join(err, l.Release(context.WithoutCancel(ctx)))
		}
	}
}

func (l *ticketLock) Release(ctx context.Context) error { return l.Delete(ctx, l.ticket) }

func (l *ticketLock) Close(context.Context) error { return l.Session.Close() }

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
