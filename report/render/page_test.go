package render

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

// pageOf is the view of a result with invented timelines, so many grants each.
func pageOf(r report.Result, grants int) *view.View {
	in := view.Input{Result: r, Traces: map[string]*report.Trace{}}
	for _, t := range r.Trials {
		in.Traces[t.Name] = timelineOf(t, grants)
	}
	return view.New(in)
}

func timelineOf(t report.Trial, grants int) *report.Trace {
	line := &report.Trace{}
	now := time.Second
	for i := range grants {
		wait := time.Duration(1+i*7919%13) * time.Millisecond
		if i%50 == 30 {
			wait += 400 * time.Millisecond
			line.Faults = append(line.Faults, report.Fault{Fault: "session.close", Target: "client </script><b>", Start: now, End: now + time.Millisecond, Proof: map[bool]string{true: "seen"}[i%100 == 30]})
		}
		now += wait
		line.Handoffs = append(line.Handoffs, metrics.Handoff{At: now, Latency: wait, Failover: i%50 == 30})
		line.Holds = append(line.Holds, report.Hold{Client: i * 3 % t.Clients, Start: now, End: now + 20*time.Millisecond})
		if i == grants-5 {
			line.Holds[i].End += 18 * time.Millisecond
		}
		if i == grants-4 {
			line.Overlaps = append(line.Overlaps, verdict.Overlap{Older: (i - 1) * 3 % t.Clients, Newer: i * 3 % t.Clients, Start: now, End: line.Holds[i-1].End})
		}
		now += 20 * time.Millisecond
	}
	return line
}

func html(t *testing.T, v *view.View) string {
	t.Helper()
	return string(written(t, report.PageFile, v))
}

func TestPage_saysWhatWasFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		ordered bool // the page has them in this order
		want    []string
		never   []string
	}{
		{"herd", false, []string{"prefers-color-scheme: dark", "Passed: all 24 verdicts", "lock/predecessor 900 µs, lock/parent 31.0 ms", "zkbench run herd --clients 10,50,100 --seed 42"}, []string{"ZgotmplZ"}},
		{"broken", false, []string{"Failed (1 of 2 subjects): mutual-exclusion", "the process still answers", "unknown", "skipped: no right"}, []string{"<script>alert", "a<b>", "ZgotmplZ"}},
		{"empty", false, []string{"Unknown: no trial was run", "No guarantee was checked"}, []string{"Passed", "ZgotmplZ"}},
		// What nobody expects stands above what must be so.
		{"zoo", true, []string{">NO: progress did not fail<", `id="checks"`,
			"<td class=\"r fail\">fail</td><td class=\"whole\">mutual-exclusion</td><td class=\"whole\">lock/go-zookeeper script=holder-expires at 3 contenders</td>",
			"<td class=\"whole\">caught by progress</td><td class=\"whole\">zoo/missed-wakeup script=predecessor-leaves at 3 contenders</td>",
			"<td class=\"r pass\">pass</td><td class=\"whole\">caught by no-orphan</td><td class=\"whole\">lock/go-zookeeper script=cut-at-list at 3 contenders</td>",
		}, nil},
		// Of each cell there is a row, and a failure says in which trial it was.
		{"matrix", false, []string{"<td>lock/parent session_timeout=4s</td>", "lock/parent session_timeout=10s at 5 contenders", "trial 2: nobody was granted"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := html(t, pageOf(load(t, c.name), 400))
			at := 0
			for _, s := range c.want {
				i := strings.Index(got[at:], s)
				if i < 0 {
					t.Fatalf("the page lacks %q, or has it too early", s)
				}
				if c.ordered {
					at += i
				}
			}
			for _, s := range c.never {
				if strings.Contains(got, s) {
					t.Errorf("the page holds %q", s)
				}
			}
			if again := html(t, pageOf(load(t, c.name), 400)); again != got {
				t.Error("drawn again, the page differs")
			}
		})
	}
}

// What the browser checks: the hashes are those of
// the style sheet and the script, and that nothing would be refused.
func TestPage_isAllowedByItsOwnPolicy(t *testing.T) {
	got := html(t, pageOf(load(t, "broken"), 100))
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src &#39;none&#39;;") {
		t.Fatalf("no strict policy: %q", policy)
	}
	for _, body := range regexp.MustCompile(`(?s)<(?:style|script)>(.*?)</(?:style|script)>`).FindAllStringSubmatch(got, -1) {
		sum := sha256.Sum256([]byte(body[1]))
		hash := strings.NewReplacer("+", "&#43;").Replace(base64.StdEncoding.EncodeToString(sum[:]))
		if !strings.Contains(policy[1], hash) {
			t.Errorf("the policy lacks the hash of a block that begins %.40q", body[1])
		}
	}
	for _, refused := range []string{` style="`, ` onclick=`, ` onload=`, `javascript:`, `<link`, ` src="`, `@import`} {
		if strings.Contains(got, refused) {
			t.Errorf("the page holds %q, which the policy refuses", refused)
		}
	}
	if n := strings.Count(got, "<script"); n != 2 {
		t.Errorf("%d script elements, want 2: the data and ours", n)
	}
	for _, url := range regexp.MustCompile(`https?://[^"'\s<)]*`).FindAllString(got, -1) {
		if !strings.HasPrefix(url, "http://www.w3.org/") { // names of XML namespaces
			t.Errorf("the page names %s", url)
		}
	}
}

// Far more than a page can show.
func TestPage_staysSmall(t *testing.T) {
	r := load(t, "herd")
	base := r.Trials
	for i := range 6 {
		for _, x := range base {
			x.Name += strings.Repeat("x", i+1)
			x.Clients += i + 1
			r.Trials = append(r.Trials, x)
		}
	}
	got := html(t, pageOf(r, 4000))
	if len(got) > 1_300_000 { // far more tables than any built-in scenario has
		t.Errorf("%d bytes, more than 1.3 MB", len(got))
	}
	if !strings.Contains(got, "are in the folder plots") {
		t.Error("plots were left out, and the page does not say so")
	}
}

// A colour without a dark twin would be unreadable at night.
func TestPage_hasADarkTwinOfEachColour(t *testing.T) {
	got := html(t, pageOf(load(t, "herd"), 400))
	for _, m := range regexp.MustCompile(`(?:fill|stroke)="(#[0-9A-F]{6})"`).FindAllStringSubmatch(got, -1) {
		if plot.Dark[m[1]] == "" {
			t.Errorf("colour %s has no dark twin", m[1])
		}
	}
}

// The timeline of a succession has who stood in line, and who was made to leave.
func TestPage_hasTheRoundsOfASuccession(t *testing.T) {
	r := load(t, "herd")
	r.Trials = r.Trials[:1]
	v := pageOf(r, 30)
	for _, s := range v.Sections {
		for _, b := range s.Blocks {
			for i := range b.Timelines {
				b.Timelines[i].Rounds = []report.Round{{Phase: "lose", Waiters: []report.Waiter{{Client: 3, From: time.Second, To: 2 * time.Second, Left: true}}}}
			}
		}
	}
	if want := `"waits":[["lose",3,1000000,2000000,true]]`; !strings.Contains(html(t, v), want) {
		t.Errorf("the page lacks %s", want)
	}
}

func TestPage_leadsFromAFailedCellToItsExplanation(t *testing.T) {
	r := load(t, "audit")
	var explanations []explain.Explanation
	for _, trial := range r.Trials {
		if trial.Outcome() == report.Fail {
			explanations = append(explanations, explain.Explanation{Trial: trial, GuaranteeName: "no-orphan"})
		}
	}
	page := html(t, view.New(view.Input{Result: r, Explanations: explanations}))
	_, matrix, _ := strings.Cut(page, `id="results"`)
	links := regexp.MustCompile(`<a href="#(explanation-[^"]+)" class="fail">✗<`).FindAllStringSubmatch(matrix, -1)
	if len(links) != 1 {
		t.Fatalf("%d links, want one for each of %d failed cells", len(links), len(explanations))
	}
	if !strings.Contains(page, `id="`+links[0][1]+`"`) {
		t.Errorf("nothing has the id %s", links[0][1])
	}
	if !strings.Contains(page, "<span>reply.drop</span>") || strings.Contains(page, "a request.drop, b") {
		t.Error("the heads are to be written out, without a legend")
	}
}

// No link of a page leads nowhere, and no two places have the same name.
func TestPage_hasAPlaceForEveryLink(t *testing.T) {
	for _, name := range []string{"herd", "broken", "zoo", "matrix", "audit"} {
		page := html(t, pageOf(load(t, name), 100))
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if ids[m[1]] {
				t.Errorf("%s: two places are called %s", name, m[1])
			}
			ids[m[1]] = true
		}
		links := regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
		for _, m := range links {
			if !ids[m[1]] {
				t.Errorf("%s: a link leads to %q, which is not there", name, m[1])
			}
		}
		if len(links) < 3 {
			t.Errorf("%s: %d links", name, len(links))
		}
	}
}
