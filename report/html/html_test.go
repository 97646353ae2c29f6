package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/plot"
)

func load(t *testing.T, name string) report.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "text", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// input draws a result with invented timelines, so many grants each.
func input(r report.Result, grants int) Input {
	in := Input{Result: r}
	for _, s := range matrix.Of(r.Trials) {
		var labels []string
		for _, x := range s.Series {
			labels = append(labels, x.Label)
		}
		looks := plot.NewLooks(labels)
		for _, f := range []*plot.Figure{plot.FanOut(s, looks), plot.Growth(s, "handoff.latency", "hand-off", looks)} {
			if f != nil {
				in.Figures = append(in.Figures, f)
			}
		}
		for _, x := range s.Series {
			for _, t := range x.Trials {
				line := timelineOf(t, x.Label, grants)
				in.Timelines = append(in.Timelines, line)
				for _, f := range []*plot.Figure{plot.OverTime(line, looks), plot.Holders(line)} {
					if f != nil {
						in.Figures = append(in.Figures, f)
					}
				}
			}
		}
	}
	return in
}

func timelineOf(t report.Trial, label string, grants int) plot.Timeline {
	line := plot.Timeline{Trial: t.Name, Label: label, Clients: t.Clients}
	now := time.Second
	for i := range grants {
		wait := time.Duration(1+i*7919%13) * time.Millisecond
		if i%50 == 30 {
			wait += 400 * time.Millisecond
			line.Windows = append(line.Windows, plot.Window{Fault: "session.close", Target: "client </script><b>", Start: now, End: now + time.Millisecond, Proven: i%100 == 30})
		}
		now += wait
		line.Handoffs = append(line.Handoffs, plot.Handoff{At: now, Latency: wait, Failover: i%50 == 30})
		line.Beliefs = append(line.Beliefs, plot.Belief{Client: i * 3 % t.Clients, Start: now, End: now + 20*time.Millisecond})
		if i == grants-5 {
			line.Beliefs[i].End += 18 * time.Millisecond
		}
		if i == grants-4 {
			line.Overlaps = append(line.Overlaps, plot.Overlap{Clients: [2]int{(i - 1) * 3 % t.Clients, i * 3 % t.Clients}, Start: now, End: line.Beliefs[i-1].End})
		}
		now += 20 * time.Millisecond
	}
	return line
}

func render(t *testing.T, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("ZKBENCH_LOOK"); dir != "" { // to look at it
		name := strings.ReplaceAll(t.Name(), "/", "-") + ".html"
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  []string
		never []string
	}{
		{"herd", []string{"34 times faster", "Passed: all 24 verdicts", "zkbench run herd --clients 10,50,100 --seed 42", "prefers-color-scheme: dark"}, []string{"ZgotmplZ"}},
		{"broken", []string{"Failed: mutual-exclusion", "skipped: no right", "the process still answers", "could not be judged"}, []string{"<script>alert", "a<b>", "ZgotmplZ"}},
		{"empty", []string{"Could not be judged", "No guarantee was judged"}, []string{"Passed", "ZgotmplZ"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := render(t, input(load(t, c.name), 400))
			for _, s := range c.want {
				if !strings.Contains(got, s) {
					t.Errorf("the page lacks %q", s)
				}
			}
			for _, s := range c.never {
				if strings.Contains(got, s) {
					t.Errorf("the page holds %q", s)
				}
			}
			if again := render(t, input(load(t, c.name), 400)); again != got {
				t.Error("drawn again, the page differs")
			}
		})
	}
}

// TestWrite_zoo: each provocation has rows of its own, and what nobody expects stands
// above what must be so.
func TestWrite_zoo(t *testing.T) {
	r := load(t, "zoo")
	v := newView(Input{Result: r})
	if len(v.Trials) != len(r.Trials) {
		t.Errorf("%d rows of %d trials", len(v.Trials), len(r.Trials))
	}
	if top := v.Verdicts[0]; top.Result != report.Fail || top.What != "mutual-exclusion" || top.Trial != "lock/go-zookeeper provocation=holder-expires, 3 contenders" {
		t.Errorf("the first row is %+v, want the sound subject's failure", top)
	}
	rows := map[string]string{}
	for _, x := range v.Verdicts {
		rows[x.What+" in "+x.Trial] = x.Result
	}
	for what, want := range map[string]string{
		"caught by no-orphan in lock/go-zookeeper provocation=cut-at-list, 3 contenders":       report.Pass,
		"caught by progress in zoo/missed-wakeup provocation=predecessor-leaves, 3 contenders": report.Fail,
		"mutual-exclusion in lock/parent provocation=holder-expires, 3 contenders":             report.Pass,
	} {
		if rows[what] != want {
			t.Errorf("%s: %q, want %s", what, rows[what], want)
		}
	}
	page := render(t, Input{Result: r})
	for _, want := range []string{"must be caught by", "pass: caught", "FAIL: not caught by progress"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestWrite_matrix: of each cell there is a row, and a failure says in which trial it was.
func TestWrite_matrix(t *testing.T) {
	page := render(t, Input{Result: load(t, "matrix")})
	for _, want := range []string{
		"<td>lock/parent session_timeout=4s</td>", "lock/parent session_timeout=10s, 5 contenders", "trial 2: nobody was granted",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestWrite_policy checks what the browser checks: that the hashes are those of
// the style sheet and the script, and that nothing would be refused.
func TestWrite_policy(t *testing.T) {
	got := render(t, input(load(t, "broken"), 100))
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

// TestWrite_size draws far more than a page can show.
func TestWrite_size(t *testing.T) {
	r := load(t, "herd")
	base := r.Trials
	for i := range 6 {
		for _, x := range base {
			x.Name += strings.Repeat("x", i+1)
			x.Clients += i + 1
			r.Trials = append(r.Trials, x)
		}
	}
	got := render(t, input(r, 4000))
	if len(got) > 2<<20 {
		t.Errorf("%d bytes, more than 2 MB", len(got))
	}
	if !strings.Contains(got, "more plots are in the folder plots") {
		t.Error("plots were left out, and the page does not say so")
	}
}

func TestPack(t *testing.T) {
	line := timelineOf(report.Trial{Name: "x", Clients: 5}, "x", 200)
	got := pack(line, 50)
	if len(got.Overlaps) != 1 || got.Left == 0 || got.Left+len(got.Held) != 200 {
		t.Fatalf("overlaps %d, held %d, left %d", len(got.Overlaps), len(got.Held), got.Left)
	}
	kept := 0
	for _, h := range got.Held {
		if o := got.Overlaps[0]; (h[0] == o[0] || h[0] == o[1]) && h[1] < o[3] && o[2] < h[2] {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d of the two overlapping grants were kept", kept)
	}
}

// TestPack_overlapsEverywhere: a subject that locks nothing at all must not blow
// the page up, nor take minutes.
func TestPack_overlapsEverywhere(t *testing.T) {
	line := plot.Timeline{}
	for i := range 200_000 {
		at := time.Duration(i) * time.Millisecond
		line.Beliefs = append(line.Beliefs, plot.Belief{Client: i % 50, Start: at, End: at + 5*time.Millisecond})
		line.Overlaps = append(line.Overlaps, plot.Overlap{Clients: [2]int{i % 50, (i + 49) % 50}, Start: at, End: at + 4*time.Millisecond})
	}
	start := time.Now()
	got := pack(line, 1000)
	if len(got.Held) > 1500 || len(got.Overlaps) > 250 || got.Left == 0 || got.LeftOverlaps != 200_000-250 {
		t.Errorf("held %d, overlaps %d, left %d and %d", len(got.Held), len(got.Overlaps), got.Left, got.LeftOverlaps)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestDark: a colour without a dark twin would be unreadable at night.
func TestDark(t *testing.T) {
	got := render(t, input(load(t, "herd"), 400))
	for _, m := range regexp.MustCompile(`(?:fill|stroke)="(#[0-9A-F]{6})"`).FindAllStringSubmatch(got, -1) {
		if plot.Dark[m[1]] == "" {
			t.Errorf("colour %s has no dark twin", m[1])
		}
	}
}
