package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// joinLimit bounds the time that agents need to join: a cluster may have to pull an image.
const joinLimit = 5 * time.Minute

const endLimit = 10 * time.Second

type local struct{ joinFileEngine }

func (l local) Start(_ context.Context, j Join, ended func(error)) (stop func() error, err error) {
	file, err := l.writeJoin(j)
	if err != nil {
		return nil, err
	}
	s := &localAgents{}
	stop = func() error { s.end(); return os.Remove(file) }
	for i := range l.n {
		name := fmt.Sprintf("local-%d", i+1)
		args := slices.Concat(l.Self, []string{"agent", "--attached", "--join", file, "--name", name, "--index", fmt.Sprint(i)})
		if err := s.start(l.EngineConfig, name, args, ended); err != nil {
			return stop, err
		}
	}
	return stop, nil
}

type localAgents struct {
	ending   atomic.Bool
	all      []site.Process
	watchers sync.WaitGroup
}

// Mark names the agents' environment variable whose value identifies the process that started them.
const Mark = "ZKBENCH_AGENT"

// start starts an agent. Its output goes to a file. Its stdin stays open: an agent stops when it ends.
func (s *localAgents) start(p EngineConfig, name string, args []string, ended func(error)) error {
	log, err := os.Create(filepath.Join(p.Dir, name+".log"))
	if err != nil {
		return err
	}
	r, err := site.Here{}.Start(site.Program{Args: args, Mark: Mark + "=" + p.Owner})
	if err != nil {
		return errors.Join(fmt.Errorf("start agent %s: %w", name, err), log.Close())
	}
	s.all = append(s.all, r)
	var printed sync.WaitGroup
	for _, from := range []site.Output{r.Stdout(), r.Stderr()} { // the output is for users
		printed.Go(func() {
			defer from.Close()
			_, _ = io.Copy(log, from)
		})
	}
	s.watchers.Go(func() {
		<-r.Exited()
		_ = r.Stdin().Close()
		late := time.Now().Add(time.Second) // another process may keep the pipes open
		_, _ = r.Stdout().SetReadDeadline(late), r.Stderr().SetReadDeadline(late)
		printed.Wait()
		_ = log.Close()
		if text, _ := r.State(); !s.ending.Load() {
			ended(fmt.Errorf("agent %s has ended (%s)%s", name, text, lastLine(log.Name())))
		}
	})
	return nil
}

// end stops all processes: their stdin is closed, and processes that do not exit in time are killed.
func (s *localAgents) end() {
	s.ending.Store(true)
	var ends sync.WaitGroup
	for _, r := range s.all {
		ends.Go(func() {
			_ = r.Stdin().Close()
			select {
			case <-r.Exited():
			case <-time.After(endLimit):
				r.Kill()
				<-r.Exited()
			}
		})
	}
	ends.Wait()
	s.watchers.Wait()
}

// crash matches the first line of a Go program's crash message.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)

// lastLine returns the last line of a log, or the first line of a crash in it, as a suffix for an error.
func lastLine(log string) string {
	text, _ := os.ReadFile(log) // an agent prints a few lines
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if line := cmp.Or(crash.FindString(string(text)), lines[len(lines)-1]); line != "" {
		return ": " + line
	}
	return ""
}
