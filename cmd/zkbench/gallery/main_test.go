package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// Every exhibit can be played: what is set in its scenario is there to be set. And nothing is
// set in a scenario that there is not.
func TestExhibits_load(t *testing.T) {
	for _, e := range exhibits() {
		if s, err := e.load(); err != nil {
			t.Errorf("%s: %v", e.name, err)
		} else if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
	for name := range small {
		if !slices.Contains(spec.Builtin(), name) {
			t.Errorf("there is no scenario %s", name)
		}
	}
	want := "zkbench run flap --set 'clients=[5, 25]' --set phases.0.rounds=5 --seed 1"
	if got := (exhibit{"flap", small["flap"]}).command(); got != want {
		t.Errorf("the command is %s, want %s", got, want)
	}
}

// The gallery has a page for the one run that there is, what was measured in it, and an index;
// everything that these link to is there, and nothing else.
func TestDrawAll(t *testing.T) {
	runs, out := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(runs, "herd"), os.DirFS("../testdata/run")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "gone.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(runs, out); err != nil {
		t.Fatal(err)
	}
	links := map[string]bool{"README.md": true}
	for _, page := range []string{"README.md", "measured.md"} {
		text, err := os.ReadFile(filepath.Join(out, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
			if link[1] != "../NUMBERS.md" {
				links[link[1]] = true
			}
		}
		if !strings.HasPrefix(string(text), generatedHeader) {
			t.Errorf("%s does not say that it is made", page)
		}
	}
	var files []string
	for _, pattern := range []string{"*.*", "measured/*"} {
		found, _ := filepath.Glob(filepath.Join(out, pattern))
		for _, file := range found {
			name, _ := filepath.Rel(out, file)
			files = append(files, filepath.ToSlash(name))
		}
	}
	slices.Sort(files)
	if want := slices.Sorted(maps.Keys(links)); !slices.Equal(files, want) {
		t.Errorf("there are %q, and linked %q", files, want)
	}
	page, err := os.ReadFile(filepath.Join(out, "herd.html"))
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(href|src)="[^#"]+"`).Find(page); found != nil {
		t.Errorf("the page stands alone, and links to %s", found)
	}
	if !strings.Contains(string(page), "zkbench run herd --set phases.1.duration=8s --seed 1") || strings.Contains(string(page), "host: name") {
		t.Error("the page does not say how to run it again, or names the machine")
	}
}

func TestWrite_refusesWhatNamesTheMachine(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/somebody")
	out := t.TempDir()
	for text, refused := range map[string]bool{"on " + host + ".": len(host) > 1, "from /home/somebody/run": true, "home-made": false} {
		err := write(out, map[string][]byte{"page.md": []byte(text)})
		if (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
	}
}
