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
	const ours = "github.com/zkbench/zkbench/"
	imports := map[string]string{
		"context": "context", "errors": "errors", "fmt": "fmt", "time": "time", "slices": "slices",
		"chaos": ours + "chaos", "client": ours + "recipes/internal/client", "ensembles": ours + "ensembles", "history": ours + "report/history",
		"recipes": ours + "recipes", "spec": ours + "scenarios/spec", "stage": ours + "scenarios/stage",
	}
	root, err := filepath.Abs("../..")
	must(t, err)
	dir, replaced := t.TempDir(), map[string]string{}
	config := filepath.Join(dir, "overlay.json")
	build := exec.Command("go", "build", "-overlay", config)
	for _, e := range []struct{ page, after, dir string }{
		{"recipes", "WORKED EXAMPLE.", "recipes"},
		{"faults", "chaos/member_hiccup.go:", "chaos"},
		{"scenarios", "scenarios/phases/handshake.go:", "scenarios/phases"},
		{"violations", "HOW TO ADD A GUARANTEE.", "report/verdict"},
		{"metrics", "HOW TO ADD A METRIC.", "report/metrics"},
	} {
		text, err := os.ReadFile("help/" + e.page + ".md")
		must(t, err)
		_, rest, found := strings.Cut(string(text), e.after)
		if !found {
			t.Fatalf("the page %s has no %q", e.page, e.after)
		}
		code := firstBlock(rest)
		if !strings.HasPrefix(code, "package ") {
			code = "package " + filepath.Base(e.dir) + "\n\n" + code
		}
		head, body, _ := strings.Cut(code, "\n")
		for name, path := range imports {
			if filepath.Base(e.dir) != name && regexp.MustCompile(`\b`+name+`\.[A-Z]`).MatchString(body) {
				head += fmt.Sprintf("\nimport %q", path)
			}
		}
		file := filepath.Join(dir, e.page+".go")
		must(t, os.WriteFile(file, []byte(head+"\n"+body), 0o644))
		replaced[filepath.Join(root, e.dir, "example_of_help.go")] = file
		build.Args = append(build.Args, "./"+e.dir)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	must(t, err)
	must(t, os.WriteFile(config, overlay, 0o644))
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
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
