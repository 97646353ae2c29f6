package host

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Mark names the environment variable of a driver's processes. Its value is the process that has
// started them, as in recipes.Trial.Owner.
const Mark = "ZKBENCH_DRIVER"

// endLimit bounds the exit of a driver after its stdin has ended.
const endLimit = 10 * time.Second

// Process is a driver's process, and the conversation with it.
type Process struct {
	Hello lines.Hello // valid once Greet has returned

	command  Command
	run      site.Process
	machine  string        // its name; "" is this one
	output   *output       // its stderr
	ended    chan struct{} // closed when it has exited and all its output is read
	broken   chan struct{} // closed when the conversation has ended
	clock    clock.Map
	halts    halts
	greeting string // the reply to hello

	writing  sync.Mutex
	mu       sync.Mutex
	wrong    error // why broken is closed
	onWrong  func(error)
	leaving  bool
	killed   bool // by us
	replaced bool // another process may replace it
	last     exchange
	secrets  []string // never printed or stored
	late     []string
	lastID   int64
	calls    map[int64]*Call
	clients  map[int]func(event lines.Reply, read time.Time) // by number
	stop     sync.Once
	stopped  error
	state    string // how it exited
}

// Launch starts a process on a machine. Its stderr goes to the file stderr; "" discards it. mark is
// the value of Mark. wrong is called once, when the process breaks a rule or exits unexpectedly.
// Stop must be called.
func Launch(c Command, on site.Site, stderr, mark string, wrong func(error)) (*Process, error) {
	p := &Process{
		command: c, output: &output{}, ended: make(chan struct{}), broken: make(chan struct{}),
		calls: map[int64]*Call{}, clients: map[int]func(lines.Reply, time.Time){},
	}
	p.attach(stderr, wrong)
	run, err := on.Start(site.Program{Args: c.Args, Env: c.Env, Dir: c.Dir, Mark: Mark + "=" + mark})
	if err != nil {
		return nil, fmt.Errorf("%s: start its driver: %w", c.Name, err)
	}
	p.run, p.machine = run, on.Name()
	if p.machine != "" {
		p.clock.Elsewhere()
	}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		_, _ = io.Copy(p.output, run.Stderr())
		_ = run.Stderr().Close()
	}()
	go p.listening(kept)
	return p, nil
}

// listening reads the process's output until it has exited and all output is stored.
func (p *Process) listening(kept <-chan struct{}) {
	go p.cut()
	p.read(p.run.Stdout())
	_ = p.run.Stdout().Close()
	select {
	case <-p.run.Exited():
	case <-time.After(time.Second):
		p.fail(p.breach("", "it has closed its stdout, and nothing more can be read"))
		<-p.run.Exited()
	}
	<-kept
	p.exited()
	p.output.to("")
	close(p.ended)
}

// cut ends the reading of an exited process's pipes, which processes outside its group may keep
// open.
func (p *Process) cut() {
	<-p.run.Exited()
	late := time.Now().Add(time.Second)
	_ = p.run.Stdout().SetReadDeadline(late)
	_ = p.run.Stderr().SetReadDeadline(late)
}

// exited records that the process has ended.
func (p *Process) exited() {
	lost := p.run.Lost()
	p.mu.Lock()
	p.state, _ = p.run.State()
	p.killed = p.killed || lost
	p.replaced = p.replaced || lost
	leaving := p.leaving
	p.mu.Unlock()
	if leaving {
		p.fail(fmt.Errorf("%s: its driver has ended", p.command.Name))
		return
	}
	p.fail(p.breach("", fmt.Sprintf("it exited in the middle (%s)%s; a driver runs until its stdin is closed", p.state, p.said())))
}

// said returns the process's last output, and where to find the rest.
func (p *Process) said() string {
	said := ""
	if line := p.output.lastLine(); line != "" {
		said = fmt.Sprintf("; it printed last %q", line)
	}
	if file := p.output.where(); file != "" {
		said += "; its complete output is in " + file
	}
	return said
}

// Stop stops the process: its stdin ends, and it is killed if it has not exited 10 s later. The
// error reports that, or its exit with an error.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		p.mu.Lock()
		p.leaving = true
		sound := p.wrong == nil
		p.mu.Unlock()
		_ = p.Resume()
		_ = p.run.Stdin().Close() // the program sees the end, or has exited
		late := time.NewTimer(endLimit)
		defer late.Stop()
		select {
		case <-p.ended:
			if _, code := p.run.State(); code != 0 && sound {
				p.stopped = p.breach("", "when stdin ends, the driver exits with 0: "+p.state+p.said())
			}
			return
		case <-late.C:
		}
		p.run.Kill()
		<-p.ended
		p.stopped = p.breach("", fmt.Sprintf("when stdin ends, the driver exits within %v: it was killed%s", endLimit, p.said()))
	})
	return p.stopped
}
