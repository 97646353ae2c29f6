package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// The test binary is the driver as well: what it does wrong is in this variable.
const modeKey = "ZKBENCH_TEST_DRIVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeKey); mode != "" {
		beDriver(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// A driver of a lock that a single client at a time holds. It has no ZooKeeper: what is
// tested here is the conversation.
type toy struct {
	mode   string
	held   bool
	parked *lines.Request // an acquire that waits
}

func (d *toy) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (d *toy) ok(id int64, fields string) { d.say(`{"id":%d,"ok":{%s}}`, id, fields) }

func (d *toy) fail(id int64, kind string) {
	d.say(`{"id":%d,"error":{"kind":%q,"text":"as the test wants it"}}`, id, kind)
}

// hellos are what it says of itself, where that is not the usual.
var hellos = map[string]string{
	"wrong protocol": `"protocol":2,"recipe":"lock","ops":["acquire","release"]`,
	"wrong recipe":   `"protocol":1,"recipe":"semaphore","ops":["acquire","release"]`,
	"an election":    `"protocol":1,"recipe":"election","ops":["acquire","release"]`,
	"no ops":         `"protocol":1,"recipe":"lock"`,
	"wrong variant":  `"protocol":1,"recipe":"lock","ops":["acquire","release"],"variant":"fair"`,
	"a typing error": `"protocol":1,"recipe":"lock","ops":["acquire","release"],"promises":{"exclusiv":true}`,
	"no cancel":      `"protocol":1,"recipe":"lock","ops":["acquire","release"]`,
	"rejoins":        `"protocol":1,"recipe":"lock","ops":["acquire","release","cancel"],"events":true,"rejoins":true`,
	"two clients":    `"protocol":1,"recipe":"lock","ops":["acquire","release","cancel"],"max_clients":2`,
}

func (d *toy) serve(q lines.Request) {
	switch q.Op {
	case "hello":
		if hello, ok := hellos[d.mode]; ok {
			d.ok(q.ID, hello)
			return
		}
		d.ok(q.ID, `"protocol":1,"recipe":"lock","about":"a toy","variant":"predecessor","promises":{"exclusive":true,"fifo":true},`+
			`"ops":["acquire","release","cancel","holds","limit","write"],"events":true,"ignored":{"a":[1]}`)
	case "clock":
		now := clock.Monotonic()
		if d.mode == "own clock" {
			now = time.Since(begun).Nanoseconds()
		}
		d.ok(q.ID, fmt.Sprintf(`"now":%d`, now))
	case "open":
		if d.mode == "late events" { // of an earlier client of the number
			d.say(`{"event":"lost","client":%d}`, *q.Client)
		}
		d.ok(q.ID, `"session":"0x1F"`)
		if d.mode == "late events" {
			d.say(`{"event":"lost","client":%d,"at":%d}`, *q.Client, clock.Monotonic()-time.Hour.Nanoseconds())
			d.say(`{"event":"suspended","client":%d,"at":%d}`, *q.Client, clock.Monotonic())
		}
	case "acquire":
		d.acquire(q)
	case "release":
		if d.mode == "unknown release" {
			d.fail(q.ID, "unknown")
			return
		}
		d.held = false
		d.ok(q.ID, d.times())
	case "cancel":
		d.ok(q.ID, "")
		if d.parked != nil && d.mode != "deaf to cancel" {
			d.fail(d.parked.ID, "cancelled")
			d.parked = nil
		}
	case "close":
		if d.parked != nil {
			d.fail(d.parked.ID, "cancelled")
			d.parked = nil
		}
		d.ok(q.ID, "")
	case "write", "put":
		d.ok(q.ID, d.times())
	case "holds":
		d.ok(q.ID, fmt.Sprintf(`"holds":%v`, d.held))
	default:
		d.fail(q.ID, "unsupported")
	}
}

var begun = time.Now()

func (d *toy) times() string {
	switch d.mode {
	case "one time":
		return `"at":5`
	case "times of another clock":
		return `"called":5,"at":6`
	case "own clock":
		now := time.Since(begun).Nanoseconds()
		return fmt.Sprintf(`"called":%d,"at":%d`, now, now)
	}
	now := clock.Monotonic()
	return fmt.Sprintf(`"called":%d,"at":%d`, now, now)
}

func (d *toy) acquire(q lines.Request) {
	switch d.mode {
	case "rejoins":
		d.mode = "rejoined"
		d.fail(q.ID, "lost")
	case "not JSON":
		d.say("DEBUG got the lock")
	case "not an object":
		d.say(`["acquire"]`)
	case "unknown id":
		d.ok(q.ID+1000, "")
	case "twice":
		d.ok(q.ID, "")
		d.ok(q.ID, "")
	case "neither":
		d.say(`{"id":%d}`, q.ID)
	case "both":
		d.say(`{"id":%d,"ok":{},"error":{"kind":"failed","text":""}}`, q.ID)
	case "no id":
		d.say(`{"ok":{}}`)
	case "too long":
		d.say(`{"id":%d,"ok":{"node":%q}}`, q.ID, strings.Repeat("x", lines.MaxLine))
	case "exits":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(7)
	case "unknown kind":
		d.fail(q.ID, "oops")
	case "unknown event":
		d.say(`{"event":"connected","client":0}`)
	case "event of nobody":
		d.say(`{"event":"lost"}`)
	case "silent":
		time.Sleep(time.Hour) // select {} would be a deadlock, which the runtime ends
	case "failed", "unknown", "lost", "timeout", "unsupported":
		d.fail(q.ID, d.mode)
	case "lost while it waits":
		d.parked = &q
		d.say(`{"event":"lost","client":%d}`, *q.Client)
	case "waits", "deaf to cancel", "no cancel":
		d.parked = &q
	case "text":
		d.ok(q.ID, `"node":"/lock/n-1","session":"-0x1","token":"7"`)
	case "doubles":
		d.say(`{"id":%d.0,"ok":{"token":7e0}}`, q.ID)
	default:
		d.held = true
		d.ok(q.ID, `"node":"/lock/n-1","token":7,`+d.times())
		if d.mode == "events" {
			for _, e := range []string{"suspended", "restored", "ended", "lost", "suspended"} {
				d.say(`{"event":%q,"client":%d,"at":%d}`, e, *q.Client, clock.Monotonic())
			}
		}
	}
}

func beDriver(mode string) {
	d := &toy{mode: mode}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q lines.Request
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		d.serve(q)
	}
	switch mode {
	case "does not end":
		// What it has started must not stay either.
		child := exec.CommandContext(context.Background(), "sleep", "600")
		_ = child.Start()
		fmt.Fprintln(os.Stderr, child.Process.Pid)
		time.Sleep(10 * time.Minute)
	case "leaves somebody":
		// Who has left its group, and keeps its pipes open.
		child := exec.CommandContext(context.Background(), "sleep", "600")
		child.Stdout, child.Stderr, child.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
		_ = child.Start()
		fmt.Fprintln(os.Stderr, child.Process.Pid)
	case "ends with an error":
		fmt.Fprintln(os.Stderr, "no cheese")
		os.Exit(3)
	}
}
