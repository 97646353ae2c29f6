package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// terminalError is an error after which a client can only be closed.
type terminalError struct{ error }

func (s terminalError) Unwrap() error { return s.error }

func (s terminalError) Is(target error) bool { return target == recipes.ErrSessionEnded }

// unfinished wraps err with ErrUnfinished: the operation may have had an effect.
func unfinished(err error) error { return fmt.Errorf("%w: %w", recipes.ErrUnfinished, err) }

// ready prepares an operation, or returns the error that prevents it. It opens a client again that was
// closed because it could not be cancelled. lost is closed when the session is lost during the operation.
func (c *Client) ready() (lost <-chan struct{}, err error) {
	if err := c.p.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	open, err := c.open, c.terminalErr
	c.lost, c.times = make(chan struct{}), recipes.Times{}
	lost = c.lost
	c.mu.Unlock()
	if err == nil && !open {
		err = c.openNow()
	}
	return lost, err
}

// operate makes the driver perform an operation, and returns its reply, or an error unless that is ok.
// onReply, if not nil, is called with any reply before later lines of the driver.
func (c *Client) operate(ctx context.Context, r lines.Request, onReply func(lines.Reply)) (lines.Reply, error) {
	return c.begin(r, onReply)(ctx)
}

func (c *Client) begin(r lines.Request, onReply func(lines.Reply)) (finish func(context.Context) (lines.Reply, error)) {
	lost, err := c.ready()
	if err != nil {
		return func(context.Context) (lines.Reply, error) { return lines.Reply{}, err }
	}
	k := c.p.Send(r, onReply)
	return func(ctx context.Context) (lines.Reply, error) { return c.finish(ctx, k, lost) }
}

func (c *Client) finish(ctx context.Context, k *Call, lost <-chan struct{}) (lines.Reply, error) {
	var late <-chan time.Time
	for {
		select {
		case a := <-k.answer:
			return a, c.outcome(ctx, k, a)
		case <-c.p.broken:
			return lines.Reply{}, unfinished(c.p.Err())
		case <-lost: // the recipe may continue in a new session
			lost, late = nil, time.After(c.env.Timeout)
		case <-late:
			if c.env.LastOutageEnd != nil {
				if more := c.env.Timeout - time.Since(c.env.LastOutageEnd()); more > 0 {
					late = time.After(more)
					continue
				}
			}
			waited, silent := c.silentSinceLoss()
			if silent && waited < c.silence {
				late = time.After(c.silence - waited)
				continue
			}
			if !silent && (k.Op == "enter" || c.p.Hello.Rejoins) { // the client may wait for others in its new session
				late = time.After(c.env.Timeout)
				continue
			}
			why := fmt.Errorf("%s: the session was lost, and the operation has not returned for %v: %w", k.Op, waited.Round(time.Millisecond), recipes.ErrSessionEnded)
			if silent {
				why = fmt.Errorf("%w: %w", recipes.ErrStuck, why)
			}
			return c.leave(k, why)
		case <-ctx.Done():
			return c.giveUp(ctx, k)
		}
	}
}

// silenceLimit is the time without a request after which a client that has lost its session is considered
// stuck: retry policies sleep for seconds (Curator's usual policy for up to 7).
const silenceLimit = 8 * time.Second

// silentSinceLoss returns the time since the client reported the loss of its session, or since the end of
// an outage after that, and reports whether the client has sent no request since the loss.
func (c *Client) silentSinceLoss() (waited time.Duration, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.lostAt
	if c.env.LastOutageEnd != nil {
		if served := c.env.LastOutageEnd(); served.After(since) {
			since = served
		}
	}
	if c.p.Hello.Rejoins && c.env.Seen != nil { // a node of the next session may be older than the notification
		now := c.env.Seen()
		if now.Path != "" && now.Session != c.lostSession && c.lostSession != 0 {
			return time.Since(since), false
		}
	}
	return time.Since(since), c.env.Requests != nil && c.env.Requests() == c.requestsAtLoss
}

func (c *Client) giveUp(ctx context.Context, k *Call) (lines.Reply, error) {
	why := fmt.Errorf("%s: %w", k.Op, context.Cause(ctx))
	if slices.Contains(c.p.Hello.Ops, "cancel") {
		a, _, err := c.p.ask(c.request("cancel"), cancelLimit, nil)
		if err != nil {
			return a, unfinished(err)
		}
		if a.OK != nil {
			return c.await(ctx, k)
		}
	}
	if lines.Acquires(k.Op) || k.Op == "take" {
		if c.env.Events != nil {
			c.env.Events(recipes.Event{Kind: recipes.EventClosed, At: time.Now(), Session: c.Session()})
		}
		return c.leave(k, why)
	}
	c.setTerminal(terminalError{unfinished(why)}, c.env.Timeout)
	return lines.Reply{}, unfinished(why)
}

func (c *Client) await(ctx context.Context, k *Call) (lines.Reply, error) {
	limit := c.env.Timeout + cancelLimit
	a, err := c.p.answer(k, limit)
	if err == nil {
		return a, c.outcome(ctx, k, a)
	}
	if !errors.Is(err, errSilent) {
		return a, unfinished(err)
	}
	err = c.p.failBreach("", "silence: a cancelled operation must be answered, but %s (id %d) was not answered within %v", k.Op, k.ID, limit)
	return lines.Reply{}, unfinished(err)
}

func (c *Client) leave(k *Call, why error) (lines.Reply, error) {
	if err := c.sendClose(); err != nil {
		return lines.Reply{}, unfinished(err)
	}
	if k.Op == "take" {
		select {
		case a := <-k.answer:
			if a.OK != nil {
				return a, nil // the item was handed out before the close
			}
			if a.Error.Kind == lines.Unknown || a.Error.Kind == lines.Lost {
				return a, unfinished(why)
			}
		default:
			return lines.Reply{}, unfinished(why)
		}
	}
	return lines.Reply{}, why
}

// setTerminal makes all later operations but Close fail with why. Close first waits until settle has passed.
func (c *Client) setTerminal(why terminalError, settle time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.terminalErr, c.settleUntil = why, time.Now().Add(settle)
}

// cleanUpLimit bounds the time, beyond a session timeout, until the tree shows the effect of an acquire or
// release with an unknown outcome. The check for orphans begins 2 s after the fault, and
// allows a recipe at least 2 s to remove them.
const cleanUpLimit = 5 * time.Second

func (c *Client) outcome(ctx context.Context, k *Call, a lines.Reply) error {
	var times lines.Times
	if a.OK != nil {
		times = a.OK.Times
	} else {
		times = a.Error.Times
	}
	if err := c.takeTimes(k, times); err != nil {
		return unfinished(err)
	}
	if a.Error == nil {
		return nil
	}
	err := fmt.Errorf("%s: %w", k.Op, a.Error)
	claims := lines.Acquires(k.Op) || lines.Releases(k.Op)
	switch a.Error.Kind {
	case lines.Failed, lines.Unsupported:
		return err
	case lines.Timeout:
		return fmt.Errorf("%w: %w", recipes.ErrNotAcquired, err)
	case lines.Unknown:
		if claims {
			s := terminalError{unfinished(err)}
			c.setTerminal(s, c.env.Timeout+cleanUpLimit)
			return s
		}
		return unfinished(err)
	case lines.Cancelled:
		if !lines.Acquires(k.Op) && k.Op != "take" {
			return unfinished(err)
		}
		return errors.Join(err, context.Cause(ctx))
	case lines.Lost:
		if !claims {
			err = unfinished(err)
		}
		s := terminalError{err}
		c.setTerminal(s, 0)
		c.mu.Lock()
		c.sessionLost = c.p.Hello.Rejoins
		c.mu.Unlock()
		return s
	}
	return unfinished(c.p.failBreach(c.p.lastReceived(), "the kind of an error must be failed, unknown, cancelled, timeout, lost or unsupported"))
}

func within(t, first, last time.Time) time.Time {
	switch {
	case t.Before(first):
		return first
	case t.After(last):
		return last
	}
	return t
}

// timesSlack is the time, beyond the error of the driver's clock, by which a driver's times may lie
// outside the interval between request and reply.
const timesSlack = 5 * time.Millisecond

// takeTimes stores the times of a reply, mapped to our clock. If the reply has none, it stores the times
// at which the request was written and the reply was read.
func (c *Client) takeTimes(k *Call, t lines.Times) error {
	times := recipes.Times{Called: k.wroteAt, Returned: k.read}
	switch {
	case t.Called == nil && t.At == nil:
	case t.Called == nil || t.At == nil:
		return c.p.failBreach(c.p.lastReceived(), "an answer must have both called and at, or neither")
	default:
		called, maxError := c.p.Clock.At(int64(*t.Called))
		at, _ := c.p.Clock.At(int64(*t.At))
		if slack := maxError + timesSlack; *t.At < *t.Called || called.Before(k.wroteAt.Add(-slack)) || at.After(k.read.Add(slack)) {
			return c.p.failBreach(c.p.lastReceived(), "called and at must be times on the clock that the op clock reads: "+
				"according to these times, the call was made %v after its request was written, and returned %v before its answer was read",
				called.Sub(k.wroteAt), k.read.Sub(at))
		}
		times.Called, times.Returned = within(called, k.wroteAt, k.read), within(at, k.wroteAt, k.read)
		times.Error = maxError
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = times
	return nil
}
