package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Client is a client of a driver, used as a recipes.Contender or a recipes.QueueClient, depending on the recipe.
type Client struct {
	p   *Process
	env recipes.Env

	mu              sync.Mutex
	open            bool      // whether it is open in the driver
	openRequestedAt time.Time // when open was requested
	terminalErr     error     // the reason why only Close may follow, or nil
	settleUntil     time.Time // Close waits until this time
	claim           recipes.Claim
	session         int64         // from the last reply that had one
	token           int64         // of its grant; 0 without a grant
	lost            chan struct{} // closed when the session is lost during an operation
	sessionLost     bool          // the session was lost, and nothing was granted since
	times           recipes.Times

	silence        time.Duration // silenceLimit, except in tests
	lostAt         time.Time     // when the last loss was reported
	lostSession    int64         // the session of the last loss; 0 if unknown
	requestsAtLoss int64         // result of Env.Requests at the last loss
}

// Open opens the client env.Client in the process.
func (p *Process) Open(ctx context.Context, env recipes.Env) (*Client, error) {
	c := &Client{p: p, env: env, lost: make(chan struct{}), silence: silenceLimit}
	return c, c.openNow()
}

func (c *Client) request(op string) lines.Request {
	return lines.Request{Op: op, Client: &c.env.Client}
}

var errNoAuth = errors.New("the ensemble requires authentication, which this driver does not support: the driver must apply auth and acl of open, and list auth in the ops of its hello (see zkbench help drivers)")

func (c *Client) openNow() error {
	if len(c.env.Auth) > 0 && !slices.Contains(c.p.Hello.Ops, lines.OpAuth) {
		return errNoAuth
	}
	connect, err := c.env.Connect()
	if err != nil {
		return err
	}
	r := c.request("open")
	for _, a := range c.env.ACL {
		r.ACL = append(r.ACL, lines.ACL{Scheme: a.Scheme, ID: a.ID, Perms: a.Perms})
	}
	r.Connect, r.Path, r.Resource, r.Auth = strings.Join(connect, ","), c.env.Parent, c.env.Resource, c.env.Auth
	r.TimeoutMS = c.env.Timeout.Milliseconds()
	switch recipes.Recipe(c.p.Hello.Recipe) {
	case recipes.RecipeSemaphore:
		r.Permits = max(c.env.Permits, 1)
	case recipes.RecipeBarrier:
		r.Parties = max(c.env.Parties, 1)
	}
	c.mu.Lock()
	c.openRequestedAt = time.Now()
	c.mu.Unlock()
	c.p.listen(c.env.Client, c.event)
	a, _, err := c.p.ask(r, openLimit, c.opened)
	if err == nil && a.Error != nil {
		err = fmt.Errorf("open: %w", a.Error)
	}
	if err != nil {
		c.p.listen(c.env.Client, nil)
	}
	return err
}

func (c *Client) opened(a lines.Reply) {
	if a.OK == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.session = true, c.seen(a.OK).Session
}

// seen returns the session, node and token of a reply. Those that it lacks are taken from the tap.
func (c *Client) seen(ok *lines.OK) (claim recipes.Claim) {
	if c.env.Seen != nil {
		claim = c.env.Seen()
	}
	if ok.Session != nil {
		claim.Session = int64(*ok.Session)
	}
	if ok.Node != "" && ok.Node != claim.Path {
		claim.Path, claim.Token = ok.Node, 0
	}
	if ok.Token != nil {
		czxid := claim.Token
		claim.Token = int64(*ok.Token)
		claim.Own = c.env.Seen != nil && claim.Token != czxid
	}
	return claim
}

var eventKinds = []recipes.EventKind{recipes.EventSuspended, recipes.EventRestored, recipes.EventLost, recipes.EventEnded}

// event handles an event of the client. An event that ends a belief gets its earliest possible
// time, a restored event its latest. It returns false for an event of an earlier client with the
// same number: an event that comes before this client is open, or happened before open was requested.
func (c *Client) event(r lines.Reply, read time.Time) (current bool) {
	e := recipes.Event{Kind: recipes.EventKind(r.Event), At: read}
	c.mu.Lock()
	open, requestedAt := c.open, c.openRequestedAt
	c.mu.Unlock()
	if !open {
		return false
	}
	if r.At != nil {
		at, maxError := c.p.Clock.At(int64(*r.At))
		if at.Add(maxError).Before(requestedAt) {
			return false
		}
		if e.Kind != recipes.EventRestored {
			maxError = -maxError
		}
		if at = at.Add(maxError); at.Before(read) {
			e.At = at
		}
	}
	c.mu.Lock()
	e.Token, e.Session = c.token, c.session
	if e.Kind == recipes.EventLost {
		c.sessionLost, c.lostSession = true, c.session
		c.token, c.session, c.lostAt = 0, 0, time.Now()
		if c.env.Requests != nil {
			c.requestsAtLoss = c.env.Requests()
		}
		select {
		case <-c.lost:
		default:
			close(c.lost)
		}
	}
	c.mu.Unlock()
	if c.env.Events != nil {
		c.env.Events(e)
	}
	return true
}

// Acquire returns when the driver's recipe has granted. When ctx is done it cancels the acquire; if the
// driver cannot cancel, it closes the client, which is opened again for the next operation.
func (c *Client) Acquire(ctx context.Context) (recipes.Claim, error) {
	return c.AcquireWith(ctx, recipes.AcquireOptions{})
}

// AcquireWith implements recipes.OptionContender. The default mode of a read-write lock is write.
func (c *Client) AcquireWith(ctx context.Context, o recipes.AcquireOptions) (recipes.Claim, error) {
	acquire, _ := lines.Ops(c.p.Hello.Recipe)
	r := c.request(acquire)
	if c.p.Hello.Recipe == string(recipes.RecipeRWLock) {
		r.Mode = string(cmp.Or(o.Mode, recipes.Write))
	}
	if o.Limit != nil {
		r.LimitMS = new(o.Limit.Milliseconds())
	}
	if _, err := c.operate(ctx, r, c.granted); err != nil {
		return recipes.Claim{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	claim := c.claim
	claim.At = c.times.Returned
	return claim, nil
}

func (c *Client) granted(a lines.Reply) {
	if a.OK == nil {
		return
	}
	claim := c.seen(a.OK)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim, c.session, c.token, c.sessionLost = claim, claim.Session, claim.Token, false
}

// Release makes the driver release the grant, and returns when it has answered.
func (c *Client) Release(ctx context.Context) error {
	_, release := lines.Ops(c.p.Hello.Recipe)
	_, err := c.operate(ctx, c.request(release), func(lines.Reply) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.token = 0
	})
	return err
}

// Put puts an item into the queue: printable ASCII, at most lines.MaxItem bytes.
func (c *Client) Put(ctx context.Context, item []byte) error {
	r := c.request("put")
	if r.Item = string(item); len(r.Item) > lines.MaxItem {
		err := fmt.Errorf("the item has %d bytes, but the limit for drivers is %d", len(item), lines.MaxItem)
		c.p.fail(err)
		return err
	}
	_, err := c.operate(ctx, r, nil)
	return err
}

// Take waits for an item in the queue, and returns it.
func (c *Client) Take(ctx context.Context) ([]byte, error) {
	a, err := c.operate(ctx, c.request("take"), nil)
	if err != nil {
		return nil, err
	}
	if a.OK.Item == nil {
		return nil, c.p.failBreach(c.p.lastReceived(), "the answer to take must have the field \"item\"")
	}
	return []byte(*a.OK.Item), nil
}

// BeginWrite sends a write to the resource on the client's session, even if the process is paused. finish
// waits for the reply.
func (c *Client) BeginWrite(value string) (finish func(context.Context) error) {
	r := c.request("write")
	r.Value = value
	f := c.begin(r, nil)
	return func(ctx context.Context) error { _, err := f(ctx); return err }
}

// Holds reports whether the client holds, according to the recipe.
func (c *Client) Holds() (bool, error) { return c.BeginHolds()() }

// BeginHolds sends the request of Holds, even if the process is paused. answer waits for the reply.
func (c *Client) BeginHolds() (answer func() (bool, error)) {
	k := c.p.Send(c.request("holds"), nil)
	return func() (bool, error) {
		a, err := c.p.Await(k, clockLimit)
		switch {
		case err != nil:
			return false, err
		case a.Error != nil:
			return false, a.Error
		case a.OK.Holds == nil:
			return false, c.p.failBreach(c.p.lastReceived(), "the answer to holds must have the field \"holds\", true or false")
		}
		return *a.OK.Holds, nil
	}
}

// Close makes the driver close the client's session. After an acquire or a release with an unknown
// outcome it first waits, so that it is visible whether the recipe cleans up.
func (c *Client) Close(context.Context) error {
	c.mu.Lock()
	open, settle := c.open, time.Until(c.settleUntil)
	c.mu.Unlock()
	if !open {
		return nil
	}
	select {
	case <-time.After(settle):
	case <-c.p.broken:
	}
	err := c.sendClose()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.terminalErr = terminalError{errors.New("the client is closed")}
	return err
}

func (c *Client) sendClose() error {
	a, _, err := c.p.ask(c.request("close"), closeLimit, func(lines.Reply) { c.p.listen(c.env.Client, nil) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.token = false, 0
	if err == nil && a.Error != nil {
		err = fmt.Errorf("close: %w", a.Error)
	}
	return err
}

// Times returns the times of the last operation as the driver reported them, or else of its request and reply.
func (c *Client) Times() recipes.Times {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times
}

// Rejoin reports whether the client can continue although its session was lost. It then need not be
// closed, whether or not the operation in the lost session had an effect. A client that requeues by
// itself gets one more operation, to which it may answer lost.
func (c *Client) Rejoin() bool {
	if !c.p.Hello.Rejoins && !c.p.Hello.Requeues || c.p.Err() != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || !c.sessionLost {
		return false
	}
	c.sessionLost, c.terminalErr = false, nil
	return true
}

func (c *Client) Process() *Process { return c.p }

// Offers reports whether the driver supports the optional operation op.
func (c *Client) Offers(op string) bool { return slices.Contains(c.p.Hello.Ops, op) }

func (c *Client) Number() int { return c.env.Client }

// Session returns the ID of the session in the last reply that had one, or 0 after the session was lost.
func (c *Client) Session() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *Client) Seen() recipes.Claim { return c.env.Seen() }

func (p *Process) keepTime() {
	for {
		select {
		case <-time.After(time.Second):
			if p.askClock() != nil {
				return
			}
		case <-p.broken:
			return
		}
	}
}

func (p *Process) askClock() error {
	watch := p.pauses.stopwatch()
	before := clock.Monotonic()
	a, c, err := p.ask(lines.Request{Op: "clock"}, clockLimit, nil)
	after := clock.Monotonic()
	if err != nil {
		return err
	}
	if a.OK == nil || a.OK.Now == nil {
		return p.failBreach("", "the answer to clock must have the field \"now\", the driver's monotonic clock in ns")
	}
	if watch.pausedSince() {
		return nil // the round trip includes a pause
	}
	p.Clock.Add(clock.Trip{Sent: c.wroteAt, Got: c.read, Before: before, After: after, Now: int64(*a.OK.Now)})
	return nil
}

// MeasureClock reads the driver's clock repeatedly, and adds the round trips to the mapping.
func (p *Process) MeasureClock(times int) error {
	for range times {
		if err := p.askClock(); err != nil {
			return err
		}
	}
	return nil
}

// Pool holds idle processes for the next trial of a run: starting a JVM takes a second. The zero value is
// empty; a nil Pool keeps no processes.
type Pool struct {
	mu     sync.Mutex
	idle   []*Process // some may have ended
	closed bool
}

func key(c Command, on string) string {
	env := slices.Sorted(slices.Values(c.Env))
	return fmt.Sprintf("%q %q %q %q %q", c.Name, c.Args, env, c.Dir, on)
}

func (q *Pool) take(c Command, on site.Site) *Process {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, p := range slices.Backward(q.idle) {
		if p.Err() == nil && key(p.command, p.machine) == key(c, on.Name()) {
			q.idle = slices.Delete(q.idle, i, i+1)
			return p
		}
	}
	return nil
}

// keep adds a process to the pool for the next trial. It returns false if the process had an error.
func (q *Pool) keep(p *Process) bool {
	if q == nil || !p.isReusable() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	p.attach("", nil)
	q.idle = append(q.idle, p)
	return true
}

// Close stops all idle processes. The pool then accepts no more.
func (q *Pool) Close() error {
	q.mu.Lock()
	q.closed = true
	processes := q.idle
	q.idle = nil
	q.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range processes {
		all.Go(func() { _ = p.Stop() })
	}
	all.Wait()
	return nil
}

func (p *Process) isReusable() bool {
	if p.pauses.until(time.Now()) > 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.Op != "clock" {
			return false
		}
	}
	return p.failure == nil && !p.stopping && len(p.lateBreaches) == 0 && len(p.clients) == 0
}

func (p *Process) attach(stderr string, onFailure func(error)) {
	p.output.setPath(stderr)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onFailure = onFailure
}
