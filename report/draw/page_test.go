package draw

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPage_inABrowser opens report.html as a person would, in a real browser. With ZKBENCH_LOOK
// set to a folder, it leaves a picture of each look there.
func TestPage_inABrowser(t *testing.T) {
	b := openBrowser(t)
	dir := runFolder(t, "failover", "overlap")
	again(t, dir)
	for _, look := range looks {
		t.Run(look.name, func(t *testing.T) {
			p := b.visit(t, dir, look)
			p.picture(look.name)
			if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > int(look.width) {
				t.Errorf("the page is %d pixels wide in a window of %d: %s", wide, look.width, eval[string](p, tooWide))
			}
			if faint := eval[[]string](p, tooFaint); len(faint) > 0 {
				t.Errorf("hardly readable: %s", strings.Join(faint, "; "))
			}
			if over := eval[[]string](p, overlapping); len(over) > 0 {
				t.Errorf("texts of plots lie over each other: %s", strings.Join(over, "; "))
			}
			p.quiet()
		})
	}
	t.Run("links", func(t *testing.T) { leads(b.visit(t, dir, looks[0])) })
	t.Run("enlarge", func(t *testing.T) { enlarges(b.visit(t, dir, looks[0])) })
	t.Run("timeline", func(t *testing.T) { timelineWorks(b.visit(t, dir, looks[0])) })
	t.Run("print", func(t *testing.T) { prints(b.visit(t, dir, looks[2])) })
	t.Run("policy", func(t *testing.T) { refusesStrangers(b.visit(t, dir, looks[0])) })
}

// look is a way in which somebody sees the page.
type look struct {
	name   string
	width  int64 // of the window, in CSS pixels
	scheme string
	mobile bool
}

var looks = []look{
	{"light", 1280, "light", false},
	{"dark", 1280, "dark", false},
	{"phone", 390, "light", true},
	{"phone-dark", 390, "dark", true},
}

// leads follows the marks of the scorecard by keyboard: what failed to its explanation, what passed
// to its row, which is unfolded.
func leads(p *page) {
	for _, mark := range []string{"fail", "pass"} {
		link := `document.querySelector(".scorecard a.` + mark + `")`
		p.do(chromedp.Evaluate[chromedp.Void](link+`.focus()`), chromedp.KeyEvent("\r"))
		p.waitFor(`location.hash !== "" && location.hash === ` + link + `.hash`)
		p.waitFor(`(() => { const e = document.querySelector(":target"), r = e && e.getBoundingClientRect();
			return e && e.checkVisibility({contentVisibilityAuto: true}) && r.top < innerHeight && r.bottom > 0 && (e.tagName !== "DETAILS" || e.open); })()`)
	}
	if unnamed := eval[int](p, `[...document.querySelectorAll("td.mark a")].filter((a) => !a.querySelector(".sr")?.textContent.trim()).length`); unnamed > 0 {
		p.t.Errorf("%d marks say nothing to a screen reader", unnamed)
	}
	p.quiet()
}

// enlarges opens a plot large, and closes it with the Escape key.
func enlarges(p *page) {
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("button.enlarge").focus()`), chromedp.KeyEvent("\r"))
	p.waitFor(`document.querySelector("dialog").open && document.querySelector("dialog svg").checkVisibility()`)
	p.do(chromedp.KeyEvent("\u001b"))
	p.waitFor(`!document.querySelector("dialog").open`)
	p.quiet()
}

// timelineWorks points at a grant, zooms in on it and out again.
func timelineWorks(p *page) {
	first := timelineData(p)[0]
	bar := first.Held[len(first.Held)/5] // far from the middle: zooming keeps what is under the pointer
	x, y := p.at(first, bar)
	p.move(x, y)
	held := fmt.Sprintf("client %d held for", bar[0])
	p.says(held)

	whole := eval[string](p, pixels)
	for range 5 {
		before := eval[string](p, pixels)
		p.wheel(x, y, -120)
		p.waitFor(pixels + ` !== ` + quote(before))
	}
	p.move(x+1, y)
	p.says(held)
	p.do(chromedp.Click(chromedp.ID("tl-all")))
	p.waitFor(pixels + ` === ` + quote(whole))

	for _, button := range []string{"tl-in", "tl-next"} {
		before := eval[string](p, pixels)
		p.do(chromedp.Click(chromedp.ID(button)))
		p.waitFor(pixels + ` !== ` + quote(before))
	}
	p.says("held at the same time for")
	p.do(chromedp.Focus(chromedp.ID("tl")), chromedp.KeyEvent("0"))
	p.waitFor(pixels + ` === ` + quote(whole))
	p.quiet()
}

// prints looks at the page as a printer does: paper is white, nothing folded is
// hidden, nothing that needs a mouse is there, and no table runs off the sheet.
func prints(p *page) {
	const sheet = 718 // A4 less a margin of 1 cm on each side, in CSS pixels
	p.do(chromedp.EmulateViewport(sheet, 1000))
	p.emulate("print", "dark")
	if paper := eval[string](p, `getComputedStyle(document.body).backgroundColor`); paper != "rgb(255, 255, 255)" {
		p.t.Errorf("the paper is %s", paper)
	}
	if eval[bool](p, `document.getElementById("tl-in").checkVisibility()`) {
		p.t.Error("a button is printed")
	}
	if !eval[bool](p, `document.getElementById("tl").checkVisibility()`) {
		p.t.Error("nothing shows who held when")
	}
	if folded := eval[int](p, `[...document.querySelectorAll("details > :not(summary)")].filter((e) => !e.checkVisibility({contentVisibilityAuto: true})).length`); folded > 0 {
		p.t.Errorf("%d folded elements are not printed", folded)
	}
	if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > sheet {
		p.t.Errorf("the page is %d pixels wide on a sheet of %d: %s", wide, sheet, eval[string](p, tooWide))
	}
	p.picture("print")
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground()))
	if err != nil || !strings.HasPrefix(string(pdf), "%PDF") {
		p.t.Fatalf("no PDF: %v", err)
	}
	p.keep("print.pdf", pdf)
	p.quiet()
}

// refusesStrangers tries what an attacker would who got something into the page.
func refusesStrangers(p *page) {
	eval[bool](p, `window.refused = [], window.ran = false,
		document.addEventListener("securitypolicyviolation", (e) => refused.push(e.effectiveDirective)), true`)
	for directive, attack := range map[string]string{
		"script-src-elem": `document.head.append(Object.assign(document.createElement("script"), {textContent: "window.ran = true"}))`,
		"script-src-attr": `document.body.setAttribute("onclick", "window.ran = true"), document.body.click()`,
		"style-src-attr":  `document.body.setAttribute("style", "display: none")`,
		"style-src-elem":  `document.head.append(Object.assign(document.createElement("style"), {textContent: "*{color:red}"}))`,
		"img-src":         `document.body.append(Object.assign(new Image(), {src: "http://127.0.0.1:9/x.png"}))`,
		"connect-src":     `void fetch("http://127.0.0.1:9/x").catch(() => {})`,
		"frame-src":       `document.body.append(Object.assign(document.createElement("iframe"), {src: "http://127.0.0.1:9/"}))`,
	} {
		p.do(chromedp.Evaluate[chromedp.Void](attack))
		p.waitFor(`refused.includes(` + quote(directive) + `)`)
	}
	if eval[bool](p, `window.ran`) {
		p.t.Error("a foreign script ran")
	}
	p.onlyItself()
}

const (
	pixels = `document.getElementById("tl").toDataURL()`
	// tooWide names the innermost elements that stick out and are not in a box that scrolls.
	tooWide = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, pre, svg"))
		.map((e) => e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)).slice(-3).join("; ")`
	// overlapping lists texts of a plot that share more than a hair of room.
	overlapping = `(() => {
		const out = [];
		document.querySelectorAll("details").forEach((d) => { d.open = true; });
		for (const svg of document.querySelectorAll("figure svg")) {
			const all = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
			all.forEach(([a, r], i) => all.slice(i + 1).forEach(([b, q]) => {
				const wide = Math.min(r.right, q.right) - Math.max(r.left, q.left), high = Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top);
				if (wide > 2 && high > r.height / 2) out.push(a + " / " + b);
			}));
		}
		return out.slice(0, 10);
	})()`
	// tooFaint lists texts whose contrast is below what WCAG 2 asks for (4.5, AA).
	tooFaint = `(() => {
		const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
		const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
		const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
		const out = new Set();
		for (const e of document.querySelectorAll("body *")) {
			if (e.closest("script, select") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
			const style = getComputedStyle(e), ink = light(parse(e.closest("svg") ? style.fill : style.color)), paper = light(ground(e));
			const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
			if (contrast < 4.5) out.add(e.tagName + " " + JSON.stringify(e.textContent.trim().slice(0, 30)) + " " + contrast.toFixed(1));
		}
		return [...out].slice(0, 10);
	})()`
)

type held struct {
	From int64      `json:"from"`
	To   int64      `json:"to"`
	Held [][3]int64 `json:"held"`
}

// timelineData is what the page's script draws.
func timelineData(p *page) (all []held) {
	if err := json.Unmarshal([]byte(eval[string](p, `document.getElementById("tl-data").textContent`)), &all); err != nil {
		p.t.Fatal(err)
	}
	return all
}

// at returns where in the window the middle of a grant is, while all is shown. The
// numbers are those of timeline.js.
func (p *page) at(line held, bar [3]int64) (x, y float64) {
	const left, right, top = 44, 8, 6
	box := eval[[]float64](p, `(() => { const c = document.getElementById("tl"); c.scrollIntoView({block: "center"});
		const r = c.getBoundingClientRect(); return [r.left, r.top, c.clientWidth]; })()`)
	pad := float64(line.To-line.From) * 0.01
	share := (float64(bar[1]+bar[2])/2 - float64(line.From) + pad) / (float64(line.To-line.From) + 2*pad)
	return box[0] + left + share*(box[2]-left-right), box[1] + top + 18*(float64(row(line, bar[0]))+0.5)
}

// row is the client's place among those that ever held.
func row(line held, client int64) int {
	seen := map[int64]bool{}
	for _, h := range line.Held {
		if h[0] < client {
			seen[h[0]] = true
		}
	}
	return len(seen)
}
