// Package check checks a driver against the subject protocol, rule by rule, on a real ensemble. It
// checks the driver's translation; scenarios test its recipe.
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

// Environment gives a check access to the ensemble and to the clients' connections.
type Environment interface {
	// Env returns the Env of a new client, with its listeners, for a recipe at path.
	Env(client int, path string) recipes.Env
	// Make creates an empty persistent node and its ancestors.
	Make(ctx context.Context, path string) error
	// Look returns a node's data, czxid and owner; czxid 0 if it does not exist.
	Look(ctx context.Context, path string) (data string, czxid, owner int64, err error)
	// Below counts the ephemeral nodes of a session below path, at any depth.
	Below(ctx context.Context, path string, session int64) (int, error)
	// Cut breaks a client's connections and refuses new ones until restore is called.
	Cut(client int) (restore func())
	// End closes a client's session at the servers.
	End(ctx context.Context, client int) error
}

// Values of Step.Result.
const (
	OK         = "ok"
	Wrong      = "WRONG"
	NotOffered = "not offered"
	Unknown    = "unknown" // an error that is not the driver's
)

// Step is a checked rule of the protocol, and the result.
type Step struct {
	Name, Rule string
	Result     string
	Why        string   // the problem, or a remark
	Exchange   []string // the last lines, "> " sent and "< " received, if Result is Wrong or Unknown
}

const timeout = 4 * time.Second

// Config is the input of Run: the driver to check, and its environment.
type Config struct {
	Command     host.Command
	Stderr      string // prefix of the file for the driver's stderr; "" discards it
	Owner       string // mark of the driver's process
	Environment Environment
	Root        string // path of the subtree to use
}

// Run checks a driver, and calls each with every finished step. Each step has its own clients and subtree.
// Run returns an error only if ctx is done; other errors are in the steps.
func Run(ctx context.Context, s Config, each func(Step)) error {
	p, err := host.Launch(s.Command, site.Here{}, s.Stderr, s.Owner, nil)
	if err != nil {
		each(Step{"start", "the driver is a program that can be started", Wrong, err.Error(), nil})
		return nil
	}
	defer p.Stop()
	k := &checker{Config: s, ctx: ctx, p: p}
	for _, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !k.applies(s) {
			continue
		}
		done := k.step(s)
		each(done)
		if p.Err() != nil && s.name != "end of stdin" {
			return nil // the conversation has ended
		}
	}
	return nil
}

type checker struct {
	Config
	ctx context.Context
	p   *host.Process

	during  context.Context // ends with the step
	path    string          // of the step's recipe
	numbers int             // number of the next client
	// groupSize is the number of permits of the step's semaphore, or of parties of its barrier; 0 is 1
	groupSize int
	open      []*host.Client
	notes     []string
	ended     atomic.Bool // whether a grant has ended by itself in this step
}

type step struct {
	name, rule string
	recipe     string // the recipe checked; "line": all but queues and barriers, "grant": all but queues, "": all
	op         string // the operation that the driver must offer, or "events"; "": none
	run        func(*checker)
}

// violation is the panic value that ends a step because the driver broke a rule.
type violation struct{ why string }

// envError is the panic value that ends a step because of an error of the environment.
type envError struct{ error }

func (k *checker) applies(s step) bool {
	is := recipes.Recipe(k.p.Hello.Recipe)
	return s.recipe == "" || s.recipe == string(is) || s.recipe == "grant" && is != recipes.RecipeQueue ||
		s.recipe == "line" && is != recipes.RecipeQueue && is != recipes.RecipeBarrier
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
	k.groupSize = 0
	k.path, k.open, k.notes = k.Root+"/"+strings.ReplaceAll(s.name, " ", "-"), nil, nil
	k.ended.Store(false)
	late := len(k.p.Late())
	during, cancel := context.WithCancel(k.ctx)
	k.during = during
	defer func() {
		cancel() // of pending attempts
		switch why := recover().(type) {
		case nil:
		case violation:
			done.Result, done.Why = Wrong, why.why
		case envError:
			done.Result, done.Why = Unknown, why.Error()
		default:
			panic(why)
		}
		for _, c := range k.open {
			_ = c.Close(k.ctx)
		}
		if err := k.p.Err(); err != nil && done.Result == OK && s.name != "end of stdin" {
			done.Result, done.Why = Wrong, err.Error()
		}
		if more := k.p.Late()[late:]; len(more) > 0 && done.Result == OK {
			done.Result, done.Why = Wrong, inWords(more)
		}
		if done.Result == OK {
			done.Why = inWords(k.notes)
		} else {
			done.Exchange = k.p.Exchange()
		}
	}()
	s.run(k)
	return done
}

func (k *checker) must(err error) {
	if err == nil {
		return
	}
	if k.p.Err() != nil {
		panic(violation{k.p.Err().Error()})
	}
	panic(envError{err})
}

func (k *checker) require(ok bool, format string, args ...any) {
	if k.p.Err() != nil {
		panic(violation{k.p.Err().Error()})
	}
	if !ok {
		panic(violation{fmt.Sprintf(format, args...)})
	}
}

func (k *checker) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

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
