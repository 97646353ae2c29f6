// Command zkbench tests ZooKeeper locks, leader elections and queues under failure.
//
//	zkbench run herd          run the herd experiment and write a report
//	zkbench ensemble up       start a persistent ensemble
//	zkbench help              everything else
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/host"
)

const (
	exitOK          = 0
	exitBroken      = 1   // a guarantee was broken or a threshold failed
	exitUsage       = 2   // wrong arguments
	exitUnknown     = 3   // the result is unknown
	exitInterrupted = 130 // interrupted; faults were healed, and results written
)

type exitError struct {
	error
	code int
}

func (c exitError) Unwrap() error { return c.error }

// usage returns err with the exit code for wrong arguments, or nil if err is nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exitError{err, exitUsage}
}

func usageError(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

func main() {
	network.RunAgentIfAsked()
	if err := rootless.SetUp(); err != nil {
		fmt.Fprintf(os.Stderr, "zkbench: %v\n", err)
		os.Exit(exitUnknown)
	}
	isDriver := os.Getenv(host.Mark) != "" // the parent zkbench ends this driver's children
	if !isDriver {
		if err := state.Adopt(); err != nil {
			fmt.Fprintf(os.Stderr, "zkbench: background processes that drivers leave running will not be found: %v\n", err)
		}
	}
	ctx, interrupt, stop := signalContext(os.Stderr)
	code := run(ctx, os.Args[1:], stream{os.Stdout, interrupt}, stream{os.Stderr, interrupt})
	stop()
	signal.Ignore(syscall.SIGHUP)
	if !isDriver {
		stray, _ := sweepDrivers() // errors concern only processes of other users
		for _, line := range stray {
			fmt.Fprintf(os.Stderr, "zkbench: killed %s\n", line)
		}
	}
	os.Exit(code)
}

// stream is stdout or stderr. When its reader has closed it, it interrupts the run, as SIGPIPE would.
// The signal itself is dropped, because connections and pipes to drivers raise it too.
type stream struct {
	*os.File
	interrupt func()
}

func (s stream) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		s.interrupt()
	}
	return n, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCmd()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(&sanitizingWriter{Writer: stderr})
	err := checkCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	code := exitCode(ctx, err)
	if err != nil && strings.TrimSpace(err.Error()) != "" { // otherwise the summary has explained it
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

// codeOf returns the gravest exit code of err and the errors that it joins, which is the lowest. An
// error without a code has the code exitUnknown, never that of a pass.
func codeOf(err error) int {
	switch e := err.(type) {
	case nil:
		return exitOK
	case exitError:
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
		Short:         "Test ZooKeeper locks, leader elections and queues under failure",
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
	root.AddCommand(runCmd(), auditCmd(), reportCmd(), checkCmd(), rerunCmd(), compareCmd(), observeCmd(), adviseCmd(), baselineCmd(), ensembleCmd(), subjectCmd(), driverCmd(), agentCmd(), agentsCmd(), listCmd(), doctorCmd(), versionCmd())
	return root
}

// checkCommand returns an error for arguments that cobra ignores: an unknown command after help, and arguments of
// completion and of help topics.
func checkCommand(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	help := len(args) > 0 && args[0] == "help"
	if help {
		args = args[1:]
	}
	cmd, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		return nil // reported when the command is executed
	}
	if help && cmd.HasSubCommands() || !cmd.Runnable() || cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
		return noArgs(cmd, rest)
	}
	return nil
}

// sameSignal is the time after the first signal within which a second signal is ignored: timeout(1)
// sends its signal twice, to the process and to its group.
const sameSignal = time.Second

// signalContext returns a context that the first SIGINT, SIGTERM or SIGHUP, or a call of interrupt,
// cancels: the run then heals faults, stops the ensemble and writes its results. A second SIGINT or
// SIGTERM exits at once. SIGHUP arrives when a terminal or an ssh connection closes.
func signalContext(stderr io.Writer) (ctx context.Context, interrupt, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // dropped; if ignored, children would inherit it
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, "\nzkbench: interrupted: healing faults, stopping the ensemble and writing results (interrupt again to exit at once)")
		cancel(errors.New("interrupted"))
		first := time.Now()
		for s := range signals {
			if asked := s == os.Interrupt || s == syscall.SIGTERM; asked && time.Since(first) > sameSignal {
				fmt.Fprintln(stderr, "zkbench: exited at once; `zkbench ensemble down` removes leftovers")
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() { cancel(errors.New("the reader of the output has closed it")) }, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

//go:embed help/*.md
var helpTexts embed.FS

var topics = []struct{ name, short string }{
	{"metrics", "Metrics: definitions and methods"},
	{"recipes", "Recipes and subjects, and how to add a recipe"},
	{"drivers", "How to test a recipe of your own in any language: the subject protocol, and templates"},
	{"faults", "Faults: their effects, and how to add one"},
	{"ensembles", "Ensembles: TLS, authentication, and external ensembles with commands for their members"},
	{"scenarios", "How to write a scenario"},
	{"violations", "How to read a violation, and the limits of zkbench"},
}

func helpTopics() []*cobra.Command {
	var out []*cobra.Command
	for _, t := range topics {
		out = append(out, &cobra.Command{Use: t.name, Short: t.short, Long: page(t.name)})
	}
	return out
}

func page(name string) string {
	text, err := helpTexts.ReadFile("help/" + name + ".md")
	if err != nil {
		panic(err) // a missing page is a bug
	}
	return strings.TrimSpace(expandLists(string(text)))
}
