package host

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// Breach is a rule of the protocol that a driver has broken.
type Breach struct {
	Driver   string
	Rule     string
	Line     string   // that breaks it; "" where there is none
	Exchange []string // the lines before it, "> " sent and "< " received
}

func (b *Breach) Error() string {
	text := b.Driver + ": its driver broke the protocol: " + b.Rule
	if b.Line != "" {
		text += ": " + b.Line
	}
	return text
}

func (p *Process) breach(line, rule string) *Breach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Breach{p.command.Name, rule, shortened(line), slices.Clone(p.last.lines)}
}

// exchange is the last lines of a conversation.
type exchange struct{ lines []string }

func (e *exchange) add(mark string, line []byte) {
	if len(e.lines) == 20 {
		e.lines = slices.Delete(e.lines, 0, 1)
	}
	e.lines = append(e.lines, mark+shortened(string(line)))
}

// shortened is a line as it is shown.
func shortened(line string) string {
	const most = 300
	line = strings.TrimRight(line, "\r\n")
	if len(line) > most {
		return fmt.Sprintf("%s... (%d bytes and more)", strings.ToValidUTF8(line[:most], ""), len(line))
	}
	return line
}

// Exchange returns the last lines of the conversation, oldest first.
func (p *Process) Exchange() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last.lines)
}

// Err is why the process is not listened to any more; nil while it is.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong
}

// fail ends the conversation, once.
func (p *Process) fail(why error) {
	p.mu.Lock()
	first := p.wrong == nil
	if p.killed {
		why = p.errKilled()
	}
	if first {
		p.wrong = why
		close(p.broken)
	}
	tell := p.onWrong
	if p.leaving || p.killed {
		tell = nil
	}
	p.mu.Unlock()
	if first && tell != nil {
		tell(why)
	}
}

// Call is a request that was sent.
type Call struct {
	lines.Request
	wrote, read time.Time
	taken       func(lines.Reply) // called with the answer before anything that comes after it; nil is allowed
	answer      chan lines.Reply
}

// Send sends a request. taken is called with the answer before anything that comes after
// it; nil is allowed.
func (p *Process) Send(r lines.Request, taken func(lines.Reply)) *Call {
	c := &Call{taken: taken, answer: make(chan lines.Reply, 1)}
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	p.lastID++
	r.ID = p.lastID
	c.Request = r
	p.calls[r.ID] = c
	line, _ := json.Marshal(r) // texts and numbers
	if r.Op != "clock" {
		p.last.add("> ", line)
	}
	c.wrote = time.Now()
	p.mu.Unlock()
	if !p.write(append(line, '\n')) {
		p.fail(p.breach(string(line), fmt.Sprintf("it has read nothing for %v, and this request cannot be written", endLimit)))
	}
	return c
}

// write writes a line, and reports false where the process does not read. On another error it
// has ended, which is noticed where its output ends.
func (p *Process) write(line []byte) bool {
	for watch := p.halts.stopwatch(); ; {
		_ = p.run.Stdin().SetWriteDeadline(time.Now().Add(max(watch.left(endLimit), tryAgain)))
		n, err := p.run.Stdin().Write(line)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
		if line = line[n:]; watch.left(endLimit) <= 0 {
			return false
		}
	}
}

// tryAgain is how often is looked whether a process is still paused.
const tryAgain = 50 * time.Millisecond

// errSilent says that an answer did not come.
var errSilent = errors.New("silence")

// answer waits for the answer to a request, for as long as the process is not paused.
func (p *Process) answer(c *Call, limit time.Duration) (lines.Reply, error) {
	for watch := p.halts.stopwatch(); watch.left(limit) > 0; {
		select {
		case a := <-c.answer:
			return a, nil
		case <-p.broken:
			return lines.Reply{}, p.Err()
		case <-time.After(max(watch.left(limit), tryAgain)):
		}
	}
	return lines.Reply{}, errSilent
}

// ask sends a request and waits for the answer.
func (p *Process) ask(r lines.Request, limit time.Duration, taken func(lines.Reply)) (lines.Reply, *Call, error) {
	c := p.Send(r, taken)
	a, err := p.Await(c, limit)
	return a, c, err
}

// Await waits for the answer to a request: a silence for longer than limit ends the
// conversation.
func (p *Process) Await(c *Call, limit time.Duration) (lines.Reply, error) {
	a, err := p.answer(c, limit)
	if !errors.Is(err, errSilent) {
		return a, err
	}
	err = p.breach("", fmt.Sprintf("silence: %s (id %d) was not answered within %v", c.Op, c.ID, limit))
	p.fail(err)
	return lines.Reply{}, err
}

// Answered says whether the answer to a request has come.
func (c *Call) Answered() bool { return len(c.answer) > 0 }

// read takes in what the process says until its end.
func (p *Process) read(stdout io.Reader) {
	r := bufio.NewReaderSize(stdout, lines.MaxLine+1)
	for {
		line, err := r.ReadSlice('\n')
		now := time.Now()
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			p.fail(p.breach(string(line), fmt.Sprintf("a line has at most %d bytes", lines.MaxLine)))
		case err == nil || len(bytes.TrimSpace(line)) > 0:
			p.take(bytes.TrimRight(line, "\r\n"), now)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// take takes in a line.
func (p *Process) take(line []byte, now time.Time) {
	if p.Err() != nil {
		return
	}
	r, err := lines.Parse(line)
	p.heard(r, line)
	if err == nil && r.Event != "" {
		err = p.event(r, now)
	} else if err == nil {
		err = p.answered(r, now)
	}
	if err != nil {
		p.fail(p.breach(string(line), err.Error()))
	}
}

// heard keeps a line for whom it may concern later. The clock's concern nobody.
func (p *Process) heard(r lines.Reply, line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.ID != nil {
		if c := p.calls[int64(*r.ID)]; c != nil && c.Op == "clock" {
			return
		}
	}
	p.last.add("< ", line)
}

// answered gives an answer to the call that waits for it.
func (p *Process) answered(r lines.Reply, now time.Time) error {
	id := int64(*r.ID)
	p.mu.Lock()
	c, last := p.calls[id], p.lastID
	delete(p.calls, id)
	p.mu.Unlock()
	switch {
	case c == nil && id > 0 && id <= last:
		return fmt.Errorf("each request is answered exactly once, and id %d was answered before", id)
	case c == nil:
		return fmt.Errorf("an answer has the id of its request, and no request has id %d", id)
	}
	c.read = now
	if c.Op == "close" && r.OK != nil {
		p.closed(*c.Client)
	}
	if c.taken != nil {
		c.taken(r)
	}
	c.answer <- r
	return nil
}

// closed notes the operations of a client that were under way when its close was answered.
func (p *Process) closed(client int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.Client != nil && *c.Client == client && c.Op != "close" && c.Op != "open" {
			p.late = append(p.late, fmt.Sprintf("close is answered after the operation under way, and %s (id %d) of client %d was not answered yet", c.Op, c.ID, client))
		}
	}
}

// Late returns what broke a rule and did no harm: what came too late.
func (p *Process) Late() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.late)
}

// event gives an event to its client. One of a client that has been closed comes too late,
// and is nobody's.
func (p *Process) event(r lines.Reply, now time.Time) error {
	if r.Client == nil {
		return errors.New("an event names its client")
	}
	if eventKinds[r.Event] == "" {
		return errors.New("there are the events suspended, restored, lost and ended")
	}
	p.mu.Lock()
	f := p.clients[int(*r.Client)]
	if f == nil {
		p.late = append(p.late, fmt.Sprintf("no events of a client follow its close, and client %d, which is not open, was %s", *r.Client, r.Event))
	}
	p.mu.Unlock()
	if f != nil {
		f(r, now)
	}
	return nil
}

// listen has f called with the events of a client; nil ends that.
func (p *Process) listen(client int, f func(lines.Reply, time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f == nil {
		delete(p.clients, client)
	} else {
		p.clients[client] = f
	}
}

// Limits on how long the answers may take that the driver itself gives.
const (
	helloLimit  = 30 * time.Second // a JVM starts
	clockLimit  = 10 * time.Second
	openLimit   = 20 * time.Second // after 15 s it answers failed
	cancelLimit = 10 * time.Second
	closeLimit  = 20 * time.Second
)

// greetings is how many clock round trips a conversation begins with.
const greetings = 50

// Greet says hello and learns the driver's clock, which is then asked every second.
func (p *Process) Greet() error {
	a, _, err := p.ask(lines.Request{Op: "hello", Protocol: lines.Protocol}, helloLimit, nil)
	switch {
	case err != nil:
		return err
	case a.Error != nil:
		err = fmt.Errorf("hello is answered with what the driver is; it answered %v", a.Error)
	case a.OK.Hello == nil || a.OK.Protocol != lines.Protocol:
		err = fmt.Errorf("hello is answered with the protocol's number, %d", lines.Protocol)
	}
	if err != nil {
		err = p.breach(p.lastSaid(), err.Error())
		p.fail(err)
		return err
	}
	p.Hello, p.greeting = *a.OK.Hello, p.lastSaid()
	if err := p.MeasureClock(greetings); err != nil {
		return err
	}
	go p.keepTime()
	return nil
}

// lastSaid is the last line that the process has written.
func (p *Process) lastSaid() string {
	for _, line := range slices.Backward(p.Exchange()) {
		if said, ok := strings.CutPrefix(line, "< "); ok {
			return said
		}
	}
	return ""
}

// keepTime asks the driver's clock until the conversation ends.
func (p *Process) keepTime() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if p.askClock() != nil {
				return
			}
		case <-p.broken:
			return
		}
	}
}

func (p *Process) askClock() error {
	watch := p.halts.stopwatch()
	before := clock.Monotonic()
	a, c, err := p.ask(lines.Request{Op: "clock"}, clockLimit, nil)
	after := clock.Monotonic()
	if err != nil {
		return err
	}
	if a.OK == nil || a.OK.Now == nil {
		err := p.breach("", "clock is answered with now, the driver's monotonic clock in ns")
		p.fail(err)
		return err
	}
	if watch.met() {
		return nil // it shows how long the pause was
	}
	p.clock.Add(clock.Trip{Sent: c.wrote, Got: c.read, Before: before, After: after, Now: int64(*a.OK.Now)})
	return nil
}

// Overhead returns the p50 and p99 of the clock's round trips.
func (p *Process) Overhead() (p50, p99 time.Duration) { return clock.Percentiles(p.clock.Trips()) }

// MeasureClock asks the driver's clock so many times.
func (p *Process) MeasureClock(times int) error {
	for range times {
		if err := p.askClock(); err != nil {
			return err
		}
	}
	return nil
}

// ClockIs says how the driver's clock is mapped.
func (p *Process) ClockIs() string { return p.clock.About() }
