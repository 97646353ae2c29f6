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

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// Err returns the reason why the exchange with the process has ended, or nil if it has not.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

func (p *Process) fail(why error) {
	p.mu.Lock()
	first := p.failure == nil
	if p.killed {
		why = fmt.Errorf("%s: the client's process %d was killed: %w", p.command.Name, p.PID(), recipes.ErrSessionEnded)
	}
	if first {
		p.failure = why
		close(p.broken)
	}
	report := p.onFailure
	if p.stopping || p.killed {
		report = nil
	}
	p.mu.Unlock()
	if first && report != nil {
		report(why)
	}
}

// Call is a request that was sent, and its reply.
type Call struct {
	lines.Request
	wroteAt, read time.Time
	onReply       func(lines.Reply) // called with the reply before any later line; may be nil
	answer        chan lines.Reply
}

// Send sends a request. onReply, if not nil, is called with the reply before any later line.
func (p *Process) Send(r lines.Request, onReply func(lines.Reply)) *Call {
	c := &Call{onReply: onReply, answer: make(chan lines.Reply, 1)}
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	p.lastID++
	r.ID = p.lastID
	c.Request = r
	p.calls[r.ID] = c
	line, _ := json.Marshal(r) // cannot fail: texts and numbers
	for _, a := range r.Auth {
		p.hide(a.Auth)
	}
	if r.Op != "clock" {
		p.last.add("> ", p.redact(string(line)))
	}
	c.wroteAt = time.Now()
	p.mu.Unlock()
	if !p.write(append(line, '\n')) {
		_ = p.failBreach(string(line), "the driver has not read its stdin for %v, so this request cannot be written", endLimit)
	}
	return c
}

// write writes a line to the driver's stdin. It returns false if the driver does not read the line within
// endLimit. Any other error means that the driver has exited, which is detected at the end of its output.
func (p *Process) write(line []byte) bool {
	for watch := p.pauses.stopwatch(); ; {
		_ = p.run.Stdin().SetWriteDeadline(time.Now().Add(max(watch.left(endLimit), tryAgain)))
		n, err := p.run.Stdin().Write(line)
		if !os.IsTimeout(err) {
			return true
		}
		if line = line[n:]; watch.left(endLimit) <= 0 {
			return false
		}
	}
}

const tryAgain = 50 * time.Millisecond

var errSilent = errors.New("silence")

// answer waits up to limit for the reply to a request. Time in which the process is paused does not count.
func (p *Process) answer(c *Call, limit time.Duration) (lines.Reply, error) {
	for watch := p.pauses.stopwatch(); watch.left(limit) > 0; {
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

func (p *Process) ask(r lines.Request, limit time.Duration, onReply func(lines.Reply)) (lines.Reply, *Call, error) {
	c := p.Send(r, onReply)
	a, err := p.Await(c, limit)
	return a, c, err
}

// Await waits for the reply to a request. Without a reply within limit it ends the exchange with an error.
func (p *Process) Await(c *Call, limit time.Duration) (lines.Reply, error) {
	a, err := p.answer(c, limit)
	if !errors.Is(err, errSilent) {
		return a, err
	}
	return lines.Reply{}, p.failBreach("", "silence: %s (id %d) was not answered within %v", c.Op, c.ID, limit)
}

func (p *Process) read(stdout io.Reader) {
	r := bufio.NewReaderSize(stdout, lines.MaxLine+1)
	for {
		line, err := r.ReadSlice('\n')
		now := time.Now()
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			_ = p.failBreach(string(line), "a line must have at most %d bytes", lines.MaxLine)
		case err == nil || len(bytes.TrimSpace(line)) > 0:
			p.take(bytes.TrimRight(line, "\r\n"), now)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (p *Process) take(line []byte, now time.Time) {
	if p.Err() != nil {
		return
	}
	p.mu.Lock()
	if len(p.secrets) > 0 { // passwords that a driver repeats must not get into a record
		line = []byte(p.redact(string(line)))
	}
	r, err := lines.Parse(line)
	var request *Call
	if r.ID != nil {
		request = p.calls[int64(*r.ID)]
	}
	if request == nil || request.Op != "clock" {
		p.last.add("< ", string(line))
	}
	p.mu.Unlock()
	if err == nil && r.Event != "" {
		err = p.event(r, now)
	} else if err == nil {
		err = p.answered(r, now)
	}
	if err != nil {
		_ = p.failBreach(string(line), err.Error())
	}
}

func (p *Process) answered(r lines.Reply, now time.Time) error {
	id := int64(*r.ID)
	p.mu.Lock()
	c, last := p.calls[id], p.lastID
	delete(p.calls, id)
	p.mu.Unlock()
	switch {
	case c == nil && id > 0 && id <= last:
		return fmt.Errorf("each request must be answered exactly once, but id %d was answered before", id)
	case c == nil:
		return fmt.Errorf("an answer must have the id of its request, but no request has id %d", id)
	}
	c.read = now
	if c.Op == "close" && r.OK != nil {
		p.closed(*c.Client)
	}
	if c.onReply != nil {
		c.onReply(r)
	}
	c.answer <- r
	return nil
}

// closed records a breach for each operation of a client that is still pending when its close is answered.
func (p *Process) closed(client int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.Client != nil && *c.Client == client && c.Op != "close" && c.Op != "open" {
			p.lateBreaches = append(p.lateBreaches, fmt.Sprintf("close must be answered after the pending operation, but %s (id %d) of client %d has no answer yet", c.Op, c.ID, client))
		}
	}
}

// Late returns the harmless breaches of the protocol so far: lines that came too late.
func (p *Process) Late() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lateBreaches)
}

// event passes an event to its client. An event of a closed client is recorded as late and dropped, even
// if the next client with the same number is open.
func (p *Process) event(r lines.Reply, now time.Time) error {
	if r.Client == nil {
		return errors.New("an event must name its client")
	}
	if !slices.Contains(eventKinds, recipes.EventKind(r.Event)) {
		return errors.New("an event must be suspended, restored, lost or ended")
	}
	p.mu.Lock()
	f := p.clients[int(*r.Client)]
	p.mu.Unlock()
	if f != nil && f(r, now) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lateBreaches) < maxLateBreaches {
		p.lateBreaches = append(p.lateBreaches, fmt.Sprintf("no event of a client may follow its close, but client %d, which was not open, was reported as %s", *r.Client, r.Event))
	}
	return nil
}

const maxLateBreaches = 100

// listen registers f for the events of a client. If f is nil it removes the registration.
func (p *Process) listen(client int, f func(lines.Reply, time.Time) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f == nil {
		delete(p.clients, client)
	} else {
		p.clients[client] = f
	}
}

// Limits of the time for replies that do not depend on the recipe.
const (
	helloLimit  = 30 * time.Second // a JVM starts
	clockLimit  = 10 * time.Second
	openLimit   = 20 * time.Second // drivers answer failed after 15 s
	cancelLimit = 10 * time.Second
	closeLimit  = 20 * time.Second
)

// breach returns the error for a broken rule of the protocol. line is the line that breaks it, or "".
func (p *Process) breach(line, rule string, args ...any) error {
	if len(args) > 0 {
		rule = fmt.Sprintf(rule, args...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.command.Name + ": the driver broke the protocol: " + p.redact(rule)
	if line != "" {
		text += ": " + p.redact(shortened(line))
	}
	return errors.New(text)
}

func (p *Process) failBreach(line, rule string, args ...any) error {
	err := p.breach(line, rule, args...)
	p.fail(err)
	return err
}

const redacted = "(redacted)"

// hide adds a client's credentials, and the password in them, to what redact replaces. The caller holds p.mu.
func (p *Process) hide(auth string) {
	_, password, _ := strings.Cut(auth, ":")
	for _, secret := range []string{auth, password} {
		if secret != "" && !slices.Contains(p.secrets, secret) {
			p.secrets = append(p.secrets, secret)
			quoted, _ := json.Marshal(secret)
			if inner := string(quoted[1 : len(quoted)-1]); inner != secret {
				p.secrets = append(p.secrets, inner)
			}
		}
	}
	slices.SortFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
	p.output.hide(p.secrets)
}

// redact replaces the passwords in a text. The caller holds p.mu.
func (p *Process) redact(text string) string { return redact(p.secrets, text) }

func redact(secrets []string, text string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

type exchange struct{ lines []string }

func (e *exchange) add(mark, line string) {
	if len(e.lines) == 20 {
		e.lines = slices.Delete(e.lines, 0, 1)
	}
	e.lines = append(e.lines, mark+shortened(line))
}

func shortened(line string) string {
	const most = 300
	line = strings.TrimRight(line, "\r\n")
	if len(line) > most {
		return fmt.Sprintf("%s... (at least %d bytes)", strings.ToValidUTF8(line[:most], ""), len(line))
	}
	return line
}

// Exchange returns the last lines that were sent ("> ") and received ("< "), oldest first.
func (p *Process) Exchange() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last.lines)
}
