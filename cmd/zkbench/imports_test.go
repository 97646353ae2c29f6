package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// may says which of our packages each of our top-level folders may import, besides
// its own. Imports run downward only, so that each part can be read, tested and
// replaced without those above it.
var may = map[string][]string{
	"cmd":       {"scenarios", "recipes", "chaos", "ensembles", "report"},
	"scenarios": {"recipes", "chaos", "ensembles", "report"},
	"chaos":     {"ensembles"},
	"ensembles": {"report/safefile", "report/units"}, // these import nothing of ours
	"recipes":   {},
	"report":    {},
}

// inner has packages whose order inside of their folder is fixed: each may import only those before
// it.
var inner = []string{"scenarios/spec", "scenarios/observer", "scenarios/stage", "scenarios/phases", "scenarios/audit", "scenarios"}

func TestImportsRunDownward(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "github.com/zkbench/zkbench/...").Output()
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 10 {
		t.Fatalf("go list knows only %d packages", len(lines))
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		from := strings.TrimPrefix(fields[0], "github.com/zkbench/zkbench/")
		folder, _, _ := strings.Cut(from, "/")
		if _, known := may[folder]; !known {
			t.Errorf("%s is in a folder that this test does not list", from)
			continue
		}
		for _, imported := range fields[1:] {
			if ours, ok := strings.CutPrefix(imported, "github.com/zkbench/zkbench/"); ok && !allowed(folder, ours) {
				t.Errorf("%s imports %s", from, ours)
			} else if i := slices.Index(inner, from); ok && i >= 0 && slices.Contains(inner[i:], ours) {
				t.Errorf("%s imports %s, which comes after it in %v", from, ours, inner)
			}
			if folder == "report" && strings.HasPrefix(imported, "github.com/go-zookeeper/zk") {
				t.Errorf("%s imports %s: report must work with no ZooKeeper at all", from, imported)
			}
		}
	}
}

func allowed(folder, imported string) bool {
	within := func(to string) bool { return strings.HasPrefix(imported+"/", to+"/") }
	return slices.ContainsFunc(append(may[folder], folder), within)
}
