// Package check holds a driver to the subject protocol, rule by rule, on a real ensemble.
// It asks whether the driver translates; what its recipe is worth is for the scenarios.
package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Ground is what a check needs of the ensemble and of the wire.
type Ground interface {
	// Env is that of a new client: its listeners, for a recipe at path.
	Env(client int, path string) recipes.Env
	// Make makes an empty persistent node, and those above it.
	Make(ctx context.Context, path string) error
	// Look returns a node's data, czxid and owner; czxid 0 where there is none.
	Look(ctx context.Context, path string) (data string, czxid, owner int64, err error)
	// Below counts the ephemeral nodes of a session below path, at any depth.
	Below(ctx context.Context, path string, session int64) (int, error)
	// Cut breaks a client's connections and refuses others until restored is called.
	Cut(client int) (restore func())
	// End closes a client's session at the servers.
	End(ctx context.Context, client int) error
}

// The results of a step.
const (
	OK         = "ok"
	Wrong      = "WRONG"
	NotOffered = "not offered"
	Unknown    = "unknown" // something else went wrong
)

// Step is what came of one rule.
type Step struct {
	Name, Rule string
	Result     string
	Why        string   // what is wrong, or worth saying
	Exchange   []string // of a step that is wrong: the last lines, "> " sent and "< " received
}

// session timeout of the clients.
const timeout = 4 * time.Second

// Setting is what is checked, and where.
type Setting struct {
	Command host.Command
	Stderr  string // a file whose name begins so gets what the driver prints; "" is nowhere
	Owner   string // that the driver's process is marked with
	Ground  Ground
	Root    string // of the part of the tree that is used
}

// Run checks a driver, and calls each with every step. Each step that needs clients has
// some of its own, and a part of the tree of its own. The error is that the ensemble does
// not serve, or that ctx is done.
func Run(ctx context.Context, s Setting, each func(Step)) error {
	p, err := host.Launch(s.Command, site.Here{}, s.Stderr, s.Owner, nil)
	if err != nil {
		each(Step{"start", "the driver is a program that can be started", Wrong, err.Error(), nil})
		return nil
	}
	defer p.Stop()
	k := &checker{Setting: s, ctx: ctx, p: p}
	for _, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !k.concerns(s) {
			continue
		}
		done := k.step(s)
		each(done)
		if p.Err() != nil && s.name != "end of stdin" {
			return nil // nobody listens any more
		}
	}
	return nil
}

// checker is a check under way.
type checker struct {
	Setting
	ctx context.Context
	p   *host.Process

	path    string // of the step
	numbers int    // of clients so far
	open    []*host.Client
	said    []string    // of the step
	ended   atomic.Bool // in this step a grant has ended by itself
}

// step is one rule, and how it is checked.
type step struct {
	name, rule string
	recipe     string // "queue", "grant" for locks and elections, "" for all
	op         string // that has to be offered; "events" are, too; "" for none
	run        func(*checker)
}

// wrong is a rule that is broken; it ends its step.
type wrong struct{ why string }

// failed is an error of the ground; it ends its step.
type failed struct{ error }

// concerns says whether the step is about the driver's recipe.
func (k *checker) concerns(s step) bool {
	return s.recipe == "" || (s.recipe == "queue") == (k.p.Hello.Recipe == string(recipes.RecipeQueue))
}

func (k *checker) step(s step) (done Step) {
	done = Step{Name: s.name, Rule: s.rule, Result: OK}
	offered := s.op == "" || slices.Contains(k.p.Hello.Ops, s.op)
	if s.op == "events" {
		offered = k.p.Hello.Events
	}
	if !offered {
		done.Result = NotOffered
		return done
	}
	k.path, k.open, k.said = k.Root+"/"+strings.ReplaceAll(s.name, " ", "-"), nil, nil
	k.ended.Store(false)
	late := len(k.p.Late())
	defer func() {
		switch why := recover().(type) {
		case nil:
		case wrong:
			done.Result, done.Why = Wrong, why.why
		case failed:
			done.Result, done.Why = Unknown, why.Error()
		default:
			panic(why)
		}
		k.closeAll()
		if err := k.p.Err(); err != nil && done.Result == OK && s.name != "end of stdin" {
			done.Result, done.Why = Wrong, err.Error()
		}
		if more := k.p.Late()[late:]; len(more) > 0 && done.Result == OK {
			done.Result, done.Why = Wrong, inWords(more)
		}
		if done.Result == OK {
			done.Why = inWords(k.said)
		} else {
			done.Exchange = k.p.Exchange()
		}
	}()
	s.run(k)
	return done
}

// must ends the step where the ground or the driver failed.
func (k *checker) must(err error) {
	if err == nil {
		return
	}
	if k.p.Err() != nil {
		panic(wrong{k.p.Err().Error()})
	}
	panic(failed{err})
}

// be ends the step where a rule is broken.
func (k *checker) be(ok bool, format string, args ...any) {
	if k.p.Err() != nil {
		panic(wrong{k.p.Err().Error()})
	}
	if !ok {
		panic(wrong{fmt.Sprintf(format, args...)})
	}
}

// note says something beside an ok.
func (k *checker) note(format string, args ...any) {
	k.said = append(k.said, fmt.Sprintf(format, args...))
}

// inWords joins what was noticed. What was noticed over and over stands there once.
func inWords(noticed []string) string {
	times := map[string]int{}
	var once []string
	for _, n := range noticed {
		if times[n]++; times[n] == 1 {
			once = append(once, n)
		}
	}
	for i, n := range once {
		if times[n] > 1 {
			once[i] = fmt.Sprintf("%s (%d times)", n, times[n])
		}
	}
	return strings.Join(once, "; ")
}
