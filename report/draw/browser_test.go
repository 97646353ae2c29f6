package draw

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/zkbench/zkbench/report"
)

// browser is a Chromium without a window, with its own empty profile.
type browser struct{ ctx context.Context }

// openBrowser skips the test where there is no Chromium.
func openBrowser(t *testing.T) browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "google-chrome"} { // what .ci/setup looks for
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is neither chromium nor google-chrome to open report.html with: .ci/setup test installs one on Debian and Ubuntu")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to sandbox as root; it opens only our own page
	}
	limited, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	ctx, _ := chromedp.NewContext(limited, chromedp.WithAllocatorOptions(options...))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the browser did not end well: %v", err)
		}
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return browser{ctx}
}

// page is a report in a tab of its own.
type page struct {
	t       *testing.T
	ctx     context.Context
	address string
	mu      sync.Mutex
	asked   map[network.RequestID]string // addresses of the requests that went out
	console []string                     // warnings and errors
}

// visit opens the report of the run folder.
func (b browser) visit(t *testing.T, dir string, l look) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, asked: map[network.RequestID]string{}, address: (&url.URL{Scheme: "file", Path: filepath.Join(dir, report.PageFile)}).String()}
	must(t, chromedp.Listen(ctx, p.hear))
	command(p, network.Enable, network.EnableParams{})
	command(p, log.Enable, cdp.Empty{})
	command(p, runtime.Enable, cdp.Empty{})
	var options []chromedp.EmulateViewportOption
	if l.mobile {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.emulate("", l.scheme)
	p.do(chromedp.EmulateViewport(l.width, 900, options...), chromedp.Navigate(p.address))
	return p
}

// hear notes what the page asks of the network, and what the browser complains of.
func (p *page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") { // the browser's own picture for one that is missing
			p.asked[e.RequestID] = e.Request.URL
		}
	case *network.EventLoadingFailed:
		if e.BlockedReason == network.BlockedReasonCsp {
			delete(p.asked, e.RequestID)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelWarning || e.Entry.Level == log.EntryLevelError {
			p.console = append(p.console, e.Entry.Text)
		}
	case *runtime.EventConsoleAPICalled: // the page's script has nothing to say there
		p.console = append(p.console, "console."+string(e.Type))
	case *runtime.EventExceptionThrown:
		p.console = append(p.console, e.ExceptionDetails.Text)
	}
}

// quiet wants a page that asked for nothing but itself, and a browser that did not complain.
func (p *page) quiet() {
	p.t.Helper()
	p.onlyItself()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.console) > 0 {
		p.t.Errorf("the console says: %s", strings.Join(p.console, "; "))
	}
}

func (p *page) onlyItself() {
	p.t.Helper()
	eval[bool](p, `true`) // what the browser said before this answer has been heard
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := slices.Collect(maps.Values(p.asked))
	if len(asked) != 1 || asked[0] != p.address {
		p.t.Errorf("requests for %q, want one for the page", asked)
	}
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func command[P, R any](p *page, c cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, c, params); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns what a JavaScript expression comes to.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// waitFor waits until a JavaScript expression is true.
func (p *page) waitFor(expression string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		p.t.Fatalf("never came true: %.200s: %v", expression, err)
	}
}

// says waits until the line under the timeline contains a text.
func (p *page) says(text string) {
	p.t.Helper()
	const line = `document.getElementById("tl-text").textContent`
	_, err := chromedp.Run(p.ctx, chromedp.Poll[chromedp.Void](line+`.includes(`+quote(text)+`)`, chromedp.WithPollingTimeout(10*time.Second)))
	if err != nil {
		p.t.Fatalf("the timeline says %q, want %q: %v", eval[string](p, line), text, err)
	}
}

func (p *page) move(x, y float64) {
	p.t.Helper()
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// wheel turns the wheel by so many pixels with Ctrl held down; up is negative. An
// action cannot say a distance of 0 to the side, which the browser wants to be told.
func (p *page) wheel(x, y, by float64) {
	p.t.Helper()
	command(p, turnWheel, wheelParams{"mouseWheel", x, y, 0, by, int64(chromedp.ModifierCtrl)})
}

var turnWheel = cdp.Command[wheelParams, cdp.Empty]{Method: input.CommandDispatchMouseEvent}

type wheelParams struct {
	Type      string  `json:"type"`
	X         float64 `json:"x"`
	Y         float64 `json:"y"`
	DeltaX    float64 `json:"deltaX"`
	DeltaY    float64 `json:"deltaY"`
	Modifiers int64   `json:"modifiers"`
}

// emulate sets the medium ("" is the screen) and the colours that the reader likes.
func (p *page) emulate(medium, scheme string) {
	p.t.Helper()
	command(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// picture keeps what the whole page looks like, where somebody wants to see it.
func (p *page) picture(name string) {
	p.t.Helper()
	if os.Getenv("ZKBENCH_LOOK") == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	p.keep(name+".png", png)
}

func (p *page) keep(name string, data []byte) {
	p.t.Helper()
	look := os.Getenv("ZKBENCH_LOOK")
	if look == "" {
		return
	}
	if err := errors.Join(os.MkdirAll(look, 0o755), os.WriteFile(filepath.Join(look, name), data, 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

// quote writes a text as JavaScript does.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}
