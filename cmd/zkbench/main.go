// Command zkbench is a crash-test laboratory for ZooKeeper coordination recipes.
//
//	zkbench run herd          run the herd experiment and write a report
//	zkbench ensemble up       keep an ensemble up between runs
//	zkbench help              everything else
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Exit codes.
const (
	exitOK          = 0
	exitBroken      = 1   // a guarantee was broken or a threshold failed
	exitUsage       = 2   // the call was wrong
	exitUnknown     = 3   // it could not be judged
	exitInterrupted = 130 // after healing, tearing down and writing what was measured
)

// coded is an error that decides the exit code.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// usage makes err one of the caller's: exit code 2.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return coded{err, exitUsage}
}

// usageError is usage for a message.
func usageError(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

func main() {
	chaos.RunAgentIfAsked()
	if err := rootless.SetUp(); err != nil {
		fmt.Fprintf(os.Stderr, "zkbench: %v\n", err)
		os.Exit(exitUnknown)
	}
	if err := state.Adopt(); err != nil {
		fmt.Fprintf(os.Stderr, "zkbench: daemons of drivers stay out of sight: %v\n", err)
	}
	ctx, stop := interruptible(os.Stderr)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) // what follows is written to whoever still reads
	stray, _ := sweepDrivers()                     // what could not be killed is somebody else's
	for _, line := range stray {
		fmt.Fprintf(os.Stderr, "zkbench: killed %s\n", line)
	}
	os.Exit(code)
}

// run is main with everything passed in; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCmd()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	refuseUnknown(root)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	if err != nil && strings.TrimSpace(err.Error()) != "" { // the summary has said the rest
		fmt.Fprintln(stderr, printable(fmt.Sprintf("zkbench: %v", err)))
	}
	return code
}

func exitCode(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return codeOf(err)
}

// codeOf is the gravest code of all that went wrong, which is the lowest. What no verb
// has coded could not be judged: never a pass.
func codeOf(err error) int {
	switch e := err.(type) {
	case nil:
		return exitOK
	case coded:
		return e.code
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return codeOf(inner)
		}
	case interface{ Unwrap() []error }:
		gravest := exitUnknown
		for _, inner := range e.Unwrap() {
			if inner != nil {
				gravest = min(gravest, codeOf(inner))
			}
		}
		return gravest
	}
	return exitUnknown
}

func rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "zkbench",
		Short:         "A crash-test laboratory for ZooKeeper coordination recipes",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(helpTopics()...)
	root.AddCommand(runCmd(), auditCmd(), reportCmd(), checkCmd(), traceCmd(), rerunCmd(), compareCmd(), baselineCmd(), ensembleCmd(), subjectCmd(), driverCmd(), agentCmd(), agentsCmd(), listCmd(), doctorCmd(), versionCmd())
	return root
}

// sameSignal is how long after the first another signal is the same: timeout(1) sends its own
// twice, to the process and to its group.
const sameSignal = time.Second

// interruptible returns a context that the first SIGINT, SIGTERM, SIGHUP or SIGPIPE cancels: the
// run heals, tears down and writes what it has. A second SIGINT or SIGTERM leaves at once. SIGHUP
// comes when a terminal or an ssh connection closes, SIGPIPE when nobody reads the output any
// longer, again with every line that is written.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, "\nzkbench: interrupted: healing, tearing down and writing what was measured (interrupt again to leave at once)")
		cancel(errors.New("interrupted"))
		first := time.Now()
		for s := range signals {
			if asked := s == os.Interrupt || s == syscall.SIGTERM; asked && time.Since(first) > sameSignal {
				fmt.Fprintln(stderr, "zkbench: left at once; `zkbench ensemble down` sweeps what stayed behind")
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel(nil) }
}
