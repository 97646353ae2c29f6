package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The gallery has a page for the one run that there is, what was measured in it, and an index;
// everything that these link to is there, and nothing else.
func TestGenerate(t *testing.T) {
	runs, out := t.TempDir(), t.TempDir()
	must(t, os.CopyFS(filepath.Join(runs, "herd"), os.DirFS("../testdata/run")))
	const command = "zkbench run herd --set phases.1.duration=8s --seed 1"
	for _, file := range []string{filepath.Join(runs, "herd.command"), filepath.Join(out, "gone.html"), filepath.Join(out, auditsPage)} {
		must(t, os.WriteFile(file, []byte(command+"\n"), 0o644))
	}
	made, err := generate(runs)
	must(t, err)
	must(t, replace(out, made))
	links := map[string]bool{"README.md": true}
	for _, page := range []string{"README.md", "measured.md"} {
		text, err := os.ReadFile(filepath.Join(out, page))
		must(t, err)
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
	must(t, err)
	if found := regexp.MustCompile(`(href|src)="[^#"]+"`).Find(page); found != nil {
		t.Errorf("the page stands alone, and links to %s", found)
	}
	if !strings.Contains(string(page), command) || strings.Contains(string(page), "host: name") {
		t.Error("the page does not say how to run it again, or names the machine")
	}
}
