package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// children are what this test binary can be when it is started as a child, to be killed.
var children = map[string]func(){}

func TestMain(m *testing.M) {
	network.RunAgentIfAsked()
	if child := children[os.Getenv("ZKBENCH_TEST_CHILD")]; child != nil {
		child()
		return
	}
	goleak.VerifyTestMain(tests{m})
}

// tests runs the tests, and takes down what they shared before leaks are looked for.
type tests struct{ *testing.M }

func (m tests) Run() int {
	code := m.M.Run()
	common.Lock()
	defer common.Unlock()
	if common.ensemble == nil {
		return code
	}
	var err error
	if common.network != nil {
		err = common.network.Close(context.Background())
	}
	err = errors.Join(err, common.ensemble.Down(context.Background()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// common is the ensemble of all tests that leave it as they found it.
var common struct {
	sync.Mutex
	ensemble *ensembles.Ensemble
	network  *network.Network
}

// ensemble starts real members that go down with the test.
func ensemble(t testing.TB, o ensembles.Options) *ensembles.Ensemble {
	t.Helper()
	e, err := process.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

// tick is short, so that sessions run out and lost members are missed soon.
const tick = 500 * time.Millisecond

// shared returns three members that serve, and their network where it can be cut.
func shared(t testing.TB) Target {
	t.Helper()
	common.Lock()
	defer common.Unlock()
	if common.ensemble == nil {
		e, err := process.Start(context.Background(), ensembles.Options{Tick: tick})
		must(t, err)
		common.ensemble = e
		common.network, _ = network.Open(context.Background(), e)
	}
	must(t, allServe(t.Context(), common.ensemble))
	return Target{Ensemble: common.ensemble, Network: common.network}
}

// cuttable is shared where networks can be cut, and skips the test elsewhere.
func cuttable(t testing.TB) Target {
	t.Helper()
	target := shared(t)
	if target.Network == nil {
		t.Skip(errNoNetwork)
	}
	return target
}

// parse makes a fault. The parameters are names, each before its value.
func parse(t testing.TB, name, target string, params ...string) Fault {
	t.Helper()
	given := map[string]string{}
	for pair := range slices.Chunk(params, 2) {
		given[pair[0]] = pair[1]
	}
	f, err := Parse(name, target, given)
	must(t, err)
	return f
}

// inject injects the fault; it is healed at the end of the test at the latest.
func inject(t testing.TB, f Fault, target Target) Effect {
	t.Helper()
	begin := time.Now()
	e, err := f.Inject(t.Context(), target)
	must(t, err)
	t.Logf("%v on %s: %s (%v)", f, e.Target, e.Proof, time.Since(begin).Round(100*time.Microsecond))
	if e.Target == "" || e.Proof == "" {
		t.Errorf("an effect without a target or a proof: %+v", e)
	}
	if e.Undo != nil {
		t.Cleanup(func() { must(t, e.Heal(context.Background())) })
	}
	return e
}

// heal heals the effect, twice, and checks that the whole ensemble serves.
func heal(t testing.TB, target Target, e Effect) {
	t.Helper()
	must(t, e.Heal(t.Context()))
	must(t, e.Heal(t.Context()))
	must(t, allServe(t.Context(), target.Ensemble))
}

// hit returns the member that the effect names first.
func hit(t testing.TB, target Target, e Effect) *ensembles.Member {
	t.Helper()
	m, err := target.Ensemble.Member(e.Target[:3])
	must(t, err)
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within polls until the condition holds, and fails the test when it does not in time.
func within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	must(t, poll(t.Context(), limit, func(context.Context) error {
		if !holds() {
			return errors.New(what)
		}
		return nil
	}))
}

// connectsTo reports whether a TCP connection can be made.
func connectsTo(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, 150*time.Millisecond)
	if err == nil {
		c.Close()
	}
	return err == nil
}
