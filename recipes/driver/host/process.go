// Package host is zkbench's side of the subject protocol (docs/PROTOCOL.md): it starts a driver's
// processes, exchanges lines of JSON with them, and makes a [recipes.Subject] of the answer to hello.
//
//	subject := host.Subject(host.Command{Name: "lock/mine", Args: []string{"python3", "driver.py"}})
package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Mark is the name of an environment variable of a driver's processes. Its value identifies the process
// that started them, as recipes.Trial.Owner does.
const Mark = "ZKBENCH_DRIVER"

const endLimit = 10 * time.Second

// Process is a process of a driver. It sends the process requests and receives the replies.
type Process struct {
	Hello lines.Hello // valid once Greet has returned
	Clock clock.Map   // of the driver

	command  Command
	run      site.Process
	machine  string        // name of its machine; "" is this one
	output   *output       // stores its stderr
	ended    chan struct{} // closed when the process has exited and all its output is read
	broken   chan struct{} // closed when the exchange has ended
	pauses   pauseLog
	greeting string // the reply to hello

	writing      sync.Mutex
	mu           sync.Mutex
	failure      error // the reason why broken is closed
	onFailure    func(error)
	stopping     bool
	killed       bool // by zkbench
	replaced     bool // another process may take its place
	last         exchange
	secrets      []string // never printed or stored
	lateBreaches []string // harmless breaches: lines that came too late
	lastID       int64
	calls        map[int64]*Call
	clients      map[int]func(event lines.Reply, read time.Time) (current bool) // by number
	stop         sync.Once
	stopped      error
	state        string // description of its exit
}

// Launch starts a process of driver c on a machine. Its stderr goes to the file stderr; "" discards it.
// mark is the value of Mark. onFailure, if not nil, is called once, when the process breaks a rule or exits
// unexpectedly. The caller must call Stop.
func Launch(c Command, on site.Site, stderr, mark string, onFailure func(error)) (*Process, error) {
	p := &Process{
		command: c, output: &output{}, ended: make(chan struct{}), broken: make(chan struct{}),
		calls: map[int64]*Call{}, clients: map[int]func(lines.Reply, time.Time) bool{},
	}
	p.attach(stderr, onFailure)
	run, err := on.Start(site.Program{Args: c.Args, Env: c.Env, Dir: c.Dir, Mark: Mark + "=" + mark})
	if err != nil {
		return nil, fmt.Errorf("%s: start its driver: %w", c.Name, err)
	}
	p.run, p.machine = run, on.Name()
	if p.machine != "" {
		p.Clock.SetRemote()
	}
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		_, _ = io.Copy(p.output, run.Stderr())
		_ = run.Stderr().Close()
	}()
	go p.readUntilExit(stored)
	return p, nil
}

// readUntilExit reads the process's stdout until the process has exited and all output is stored.
func (p *Process) readUntilExit(stored <-chan struct{}) {
	go func() { // ends the reading of the pipes: processes outside the group may keep them open
		<-p.run.Exited()
		late := time.Now().Add(time.Second)
		_ = p.run.Stdout().SetReadDeadline(late)
		_ = p.run.Stderr().SetReadDeadline(late)
	}()
	p.read(p.run.Stdout())
	_ = p.run.Stdout().Close()
	select {
	case <-p.run.Exited():
	case <-time.After(time.Second):
		_ = p.failBreach("", "the driver closed its stdout but did not exit; stdout must stay open until stdin ends")
		<-p.run.Exited()
	}
	<-stored
	p.exited()
	p.output.setPath("")
	close(p.ended)
}

func (p *Process) exited() {
	lost := p.run.Lost()
	p.mu.Lock()
	p.state, _ = p.run.State()
	p.killed = p.killed || lost
	p.replaced = p.replaced || lost
	stopping := p.stopping
	p.mu.Unlock()
	if stopping {
		p.fail(fmt.Errorf("%s: the driver has ended", p.command.Name))
		return
	}
	_ = p.failBreach("", "the driver exited during the trial (%s)%s; a driver must run until its stdin is closed", p.state, p.lastOutputHint())
}

func (p *Process) lastOutputHint() string {
	printed := ""
	if line := p.output.lastLine(); line != "" {
		printed = fmt.Sprintf("; it printed last %q", line)
	}
	if file := p.output.where(); file != "" {
		printed += "; its complete output is in " + file
	}
	return printed
}

// Stop closes the process's stdin, and kills the process if it has not exited within 10 s. It returns an
// error if the process was killed or exited with an error. Later calls return the same error.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		p.mu.Lock()
		p.stopping = true
		wasHealthy := p.failure == nil
		p.mu.Unlock()
		_ = p.Resume()
		_ = p.run.Stdin().Close() // an error means that the program has exited
		late := time.NewTimer(endLimit)
		defer late.Stop()
		select {
		case <-p.ended:
			if _, code := p.run.State(); code != 0 && wasHealthy {
				p.stopped = p.breach("", "when stdin ends, the driver must exit with status 0, but ended with: "+p.state+p.lastOutputHint())
			}
			return
		case <-late.C:
		}
		p.run.Kill()
		<-p.ended
		p.stopped = p.breach("", "when stdin ends, the driver must exit within %v; it did not, and was killed%s", endLimit, p.lastOutputHint())
	})
	return p.stopped
}

// ErrExited is wrapped by the error of [Probe] if the program exited before it answered hello.
var ErrExited = errors.New("the program ended before it answered hello")

// Probe starts the program on this machine, checks its hello, and stops it, so that problems show before an ensemble
// is started. mark is the value of [Mark]. The error includes the last lines of the program's stderr.
func Probe(c Command, mark string) error {
	p, err := Launch(c, site.Here{}, "", mark, nil)
	if err != nil {
		return err
	}
	if err = p.Greet(); err == nil {
		_, err = SubjectOf(c, p)
	}
	if err == nil {
		return p.Stop()
	}
	silent := p.lastReceived() == ""
	_ = p.Stop()
	if _, code := p.run.State(); silent && !p.killed && code != 0 {
		err = fmt.Errorf("%s: %w (%s)", c.Name, ErrExited, p.state)
	}
	if printed := p.output.end(); printed != "" {
		return fmt.Errorf("%w; it printed on stderr:\n  %s", err, strings.ReplaceAll(printed, "\n", "\n  "))
	}
	return err
}

const clockReadings = 50

// Greet sends hello, sets p.Hello, and maps the driver's clock, which is then read every second.
func (p *Process) Greet() error {
	a, _, err := p.ask(lines.Request{Op: "hello", Protocol: lines.Protocol}, helloLimit, nil)
	switch {
	case err != nil:
		return err
	case a.Error != nil:
		err = fmt.Errorf("the answer to hello must describe the driver, but is an error: %v", a.Error)
	case a.OK.Hello == nil || a.OK.Protocol != lines.Protocol:
		err = fmt.Errorf("the answer to hello must have the protocol's number, %d", lines.Protocol)
	}
	if err != nil {
		return p.failBreach(p.lastReceived(), err.Error())
	}
	p.Hello, p.greeting = *a.OK.Hello, p.lastReceived()
	if err := p.MeasureClock(clockReadings); err != nil {
		return err
	}
	go p.keepTime()
	return nil
}

func (p *Process) lastReceived() string {
	for _, line := range slices.Backward(p.Exchange()) {
		if received, ok := strings.CutPrefix(line, "< "); ok {
			return received
		}
	}
	return ""
}

// Command describes how to start a driver.
type Command struct {
	Name      string   // of the subject: RECIPE/NAME, such as lock/mine
	Args      []string // the program and its arguments
	Env       []string // KEY=value, in addition to the environment of this process
	Dir       string   // working directory; "" is the current one
	Processes int      // minimum number of processes for the clients; 0: as few as can hold them
}

// Split splits a command line into words by the quoting rules of a shell. It fails if there is no word.
func Split(line string) ([]string, error) {
	words, err := shellquote.Split(line)
	if err == nil && len(words) == 0 {
		err = fmt.Errorf("the command line does not contain a program")
	}
	return words, err
}

// RecipeOf returns the recipe in a subject's name: lock for lock/mine.
func RecipeOf(name string) (recipes.Recipe, error) {
	first, rest, _ := strings.Cut(name, "/")
	r := recipes.Recipe(first)
	if rest == "" || !slices.Contains(recipes.Recipes, r) {
		return "", fmt.Errorf("%q has no kind: name it KIND/NAME, for example lock/mine or queue/mine", name)
	}
	return r, nil
}

// output writes a process's stderr to a file, a new one for every trial, which is created when there is output.
type output struct {
	mu   sync.Mutex
	path string // "" discards the output
	file *os.File
	kept string // the file with the last output; "" if there is none

	secrets []string // replaced in the output
	written int64    // bytes in the file
	dropped int64    // bytes beyond fileLimit
	tail    []byte   // the end of the output, at most tailLimit
}

// fileLimit bounds a file, in bytes. Output beyond it is dropped, except for the last tailLimit bytes.
const fileLimit = 4 << 20

func (o *output) hide(secrets []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.secrets = slices.Clone(secrets)
}

const tailLimit = 4096

// Write implements io.Writer. Output that cannot be stored is dropped: the process must not block.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(b)
	if len(o.secrets) > 0 {
		b = []byte(redact(o.secrets, string(b)))
	}
	o.tail = append(o.tail, b...)
	o.tail = slices.Delete(o.tail, 0, max(len(o.tail)-tailLimit, 0))
	if o.path == "" {
		o.kept = ""
		return n, nil
	}
	if o.file == nil {
		o.file, _ = os.OpenFile(o.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	if o.file != nil {
		keep := b[:min(int64(len(b)), max(0, fileLimit-o.written))]
		_, _ = o.file.Write(keep)
		o.written += int64(len(keep))
		o.dropped += int64(len(b) - len(keep))
		o.kept = o.path
	}
	return n, nil
}

// setPath makes path the file for further output; "" discards it. Unless path is "", the tail is emptied.
func (o *output) setPath(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		if o.dropped > 0 {
			fmt.Fprintf(o.file, "\n[zkbench: %d bytes were dropped here; the end follows]\n%s", o.dropped, o.tail)
		}
		_ = o.file.Close()
	}
	o.written, o.dropped = 0, 0
	o.path, o.file = path, nil
	if path != "" {
		o.kept, o.tail = "", nil
	}
}

func (o *output) where() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept
}

// lastLine returns the last line of output that does not begin with a space, such as the error before a
// stack trace; otherwise the last line; "" if there is no output.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.Split(strings.ToValidUTF8(strings.TrimRight(string(o.tail), " \t\r\n"), ""), "\n")
	for _, line := range slices.Backward(all) {
		if line != "" && line == strings.TrimLeft(line, " \t\r") {
			return shortened(line)
		}
	}
	return shortened(all[len(all)-1])
}

func (o *output) end() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.Split(strings.ToValidUTF8(strings.TrimSpace(string(o.tail)), ""), "\n")
	return strings.Join(all[max(0, len(all)-endLines):], "\n")
}

const endLines = 8

// A process can be paused, as by a debugger or a hypervisor, and killed. The time limits of the protocol
// do not include pauses.

func (p *Process) Running() site.Process { return p.run }

// PID returns the process ID on the process's machine.
func (p *Process) PID() int { return p.run.PID() }

// Pause stops the process group with SIGSTOP, until Resume is called.
func (p *Process) Pause() error {
	if err := p.checkRunning(); err != nil {
		return err
	}
	p.pauses.set(true)
	if err := p.run.Pause(); err != nil {
		p.pauses.set(false)
		return fmt.Errorf("%s: pause process %d: %w", p.command.Name, p.PID(), err)
	}
	return nil
}

// Resume continues a paused process with SIGCONT. It has no effect if the process is not paused or has ended.
func (p *Process) Resume() error {
	if p.checkRunning() != nil {
		return nil
	}
	if err := p.run.Resume(); err != nil {
		return fmt.Errorf("%s: resume process %d: %w", p.command.Name, p.PID(), err)
	}
	p.pauses.set(false)
	return nil
}

func (p *Process) checkRunning() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s: process %d has ended: %s", p.command.Name, p.PID(), p.state)
	default:
		return nil
	}
}

// Kill kills the process group with SIGKILL and waits up to endLimit for its end. Pending operations of
// its clients return errors; the clients must be opened again, which fails until Replace is called.
func (p *Process) Kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.run.Kill()
	select {
	case <-p.ended:
		return nil
	case <-time.After(endLimit):
		return fmt.Errorf("%s: process %d is still running %v after SIGKILL", p.command.Name, p.PID(), endLimit)
	}
}

// Replace allows a new process in place of a killed one. It is started when a client is opened in it.
func (p *Process) Replace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = true
}

func (p *Process) killState() (killed, replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed, p.replaced
}

type pauseLog struct {
	mu    sync.Mutex
	since time.Time // start of the current pause; zero if there is none
	total time.Duration
}

// set begins or ends a pause, unless that has already happened.
func (h *pauseLog) set(paused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := time.Now(); {
	case paused && h.since.IsZero():
		h.since = now
	case !paused && !h.since.IsZero():
		h.total, h.since = h.total+now.Sub(h.since), time.Time{}
	}
}

// until returns the paused time until now.
func (h *pauseLog) until(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return h.total
	}
	return h.total + now.Sub(h.since)
}

type stopwatch struct {
	pauses *pauseLog
	begun  time.Time
	paused time.Duration // paused time before begun
}

func (h *pauseLog) stopwatch() stopwatch {
	now := time.Now()
	return stopwatch{h, now, h.until(now)}
}

// left returns the rest of limit. Paused time since the start does not count.
func (s stopwatch) left(limit time.Duration) time.Duration {
	now := time.Now()
	return limit - now.Sub(s.begun) + s.pauses.until(now) - s.paused
}

func (s stopwatch) pausedSince() bool { return s.pauses.until(time.Now()) > s.paused }
