package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The help pages show one example of each kind of addition: each compiles in its package as it is.
func TestHelp_examplesCompile(t *testing.T) {
	imports := map[string]string{
		"context": "context", "errors": "errors", "fmt": "fmt", "time": "time", "slices": "slices",
		"chaos": "chaos", "client": "recipes/internal/client", "ensembles": "ensembles", "history": "report/history",
		"recipes": "recipes", "spec": "scenarios/spec", "stage": "scenarios/stage",
	}
	used := regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)
	for _, e := range []struct{ page, after, dir string }{
		{"recipes", "WORKED EXAMPLE.", "recipes"},
		{"faults", "chaos/member_hiccup.go:", "chaos"},
		{"scenarios", "scenarios/phases/handshake.go:", "scenarios/phases"},
		{"violations", "HOW TO ADD A GUARANTEE.", "report/verdict"},
		{"metrics", "HOW TO ADD A METRIC.", "report/metrics"},
	} {
		t.Run(e.page, func(t *testing.T) {
			text, err := os.ReadFile("help/" + e.page + ".md")
			must(t, err)
			_, rest, found := strings.Cut(string(text), e.after)
			if !found {
				t.Fatalf("the page has no %q", e.after)
			}
			code := firstBlock(rest)
			if !strings.HasPrefix(code, "package ") {
				code = "package " + filepath.Base(e.dir) + "\n\n" + code
			}
			head, body, _ := strings.Cut(code, "\n")
			var list strings.Builder
			for name, path := range imports {
				if filepath.Base(e.dir) == name || !strings.Contains(body, name+".") || !mentions(used, body, name) {
					continue
				}
				if strings.Contains(path, "/") || name == "chaos" || name == "ensembles" || name == "recipes" {
					path = "github.com/zkbench/zkbench/" + path
				}
				fmt.Fprintf(&list, "import %q\n", path)
			}
			root, err := filepath.Abs("../..")
			must(t, err)
			file := filepath.Join(t.TempDir(), "example.go")
			must(t, os.WriteFile(file, []byte(head+"\n\n"+list.String()+body), 0o644))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, e.dir, "example_of_help.go"): file}})
			must(t, err)
			config := filepath.Join(t.TempDir(), "overlay.json")
			must(t, os.WriteFile(config, overlay, 0o644))
			build := exec.Command("go", "build", "-overlay", config, "./"+e.dir)
			build.Dir = root
			if out, err := build.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s\n%s", err, out, code)
			}
		})
	}
}

func mentions(used *regexp.Regexp, body, name string) bool {
	for _, m := range used.FindAllStringSubmatch(body, -1) {
		if m[1] == name {
			return true
		}
	}
	return false
}

// firstBlock returns the first indented block that begins with Go code, without its indentation.
func firstBlock(text string) string {
	var out []string
	indent := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " ")
		if indent == "" {
			if !strings.HasPrefix(line, "  ") || !strings.HasPrefix(trimmed, "package ") && !strings.HasPrefix(trimmed, "func ") && !strings.HasPrefix(trimmed, "var _ = ") {
				continue
			}
			indent = line[:len(line)-len(trimmed)]
		}
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, indent) {
			break
		}
		out = append(out, strings.TrimPrefix(strings.TrimRight(line, "\n"), indent))
	}
	return strings.Join(out, "\n") + "\n"
}
