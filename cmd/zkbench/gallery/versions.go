package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"golang.org/x/mod/semver"
)

// byVersion are the subjects of other projects whose audits are compared, with one column for each
// version that make versions has installed.
var byVersion = []string{"lock/curator", "election/curator-latch", "election/curator-selector", "lock/kazoo", "queue/kazoo",
	"queue/kazoo-locking", "lock/zookeeper-writelock", "queue/zookeeper"}

// versionsOf returns the installed versions of a subject, such as lock/curator@5.4.0, oldest first.
func versionsOf(base string) (names []string) {
	for _, s := range recipes.Subjects() {
		if strings.HasPrefix(s.Name, base+"@") {
			names = append(names, s.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return semver.Compare("v"+version(a), "v"+version(b)) })
	return names
}

func version(name string) string {
	_, v, _ := strings.Cut(name, "@")
	return v
}

func auditFolder(runs, name string) string {
	return filepath.Join(runs, "audit-"+strings.ReplaceAll(name, "/", "-"))
}

// runAudits audits all versions, one after the other. Each audit takes about two minutes.
func runAudits(ctx context.Context, program, runs string) error {
	for _, base := range byVersion {
		for _, name := range versionsOf(base) {
			args := []string{"audit", name, "--seed", fmt.Sprint(seed), "--ensemble", "process", "--quiet", "--force", "--out", auditFolder(runs, name)}
			if err := runZkbench(ctx, program, name, args); err != nil {
				return err
			}
		}
	}
	return nil
}

// audits returns the page of the audits by version, or "" if there are no runs.
func audits(runs string) (string, error) {
	var b strings.Builder
	for _, base := range byVersion {
		folders, _ := filepath.Glob(auditFolder(runs, base+"@*"))
		var all []report.Result
		for _, dir := range folders {
			r, err := report.ReadResult(dir)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return "", err
			}
			all = append(all, r)
		}
		if len(all) > 0 {
			slices.SortFunc(all, func(a, b report.Result) int { return semver.Compare("v"+version(subject(a)), "v"+version(subject(b))) })
			writeAudit(&b, base, all)
		}
	}
	if b.Len() == 0 {
		return "", nil
	}
	return generatedHeader + auditsIntro + b.String(), nil
}

const auditsIntro = `# Audits by version

Each row is a cell of ` + "`zkbench audit`" + `, a step of the protocol with a fault at it, that did not keep every guarantee in at least one
version; the cells that are not listed kept every one in all of them. A cell is one episode: where a failure depends on which of two
messages comes first, another run may show it in other cells. Cells marked *not applicable* are cases that the recipe does not allow.
The causes are lines of the library's source. They are assigned by subject, step and guarantee: the evidence was read for a sample of the cells, not for each.

The run folders are made by ` + "`make versions && make audits`" + `.
`

func subject(r report.Result) string { return r.Trials[0].Subject }

// writeAudit writes the section of a subject: a column for each version.
func writeAudit(b *strings.Builder, base string, all []report.Result) {
	row := func(head string, of func(report.Result) string, cause string) {
		fmt.Fprintf(b, "| %s | %s |%s|\n", head, strings.Join(units.Names(all, of), " | "), cause)
	}
	names := units.Names(all, func(r report.Result) string { return version(subject(r)) })
	fmt.Fprintf(b, "\n## %s\n\n| | %s | cause |\n|---|%s---|\n", base, strings.Join(names, " | "), strings.Repeat("---|", len(all)))
	row("ZooKeeper", func(r report.Result) string { return r.Run.Versions["zookeeper"] }, " ")
	row("cells that kept every guarantee", kept, " ")
	var cells []string
	for _, r := range all {
		for _, t := range r.Trials {
			if t.Outcome() != report.Pass && !slices.Contains(cells, t.Provocation) {
				cells = append(cells, t.Provocation)
			}
		}
	}
	var alike []string // cells that broke no other guarantee than ownership-query share one row
	cells = slices.DeleteFunc(cells, func(cell string) bool {
		for _, r := range all {
			if o := outcome(r, cell); o != "kept" && o != onlyOwnershipQuery {
				return false
			}
		}
		alike = append(alike, cell)
		return true
	})
	if len(alike) > 0 {
		count := func(r report.Result) string {
			n := 0
			for _, cell := range alike {
				if outcome(r, cell) == onlyOwnershipQuery {
					n++
				}
			}
			return units.Plural(n, "cell")
		}
		row(verdict.OwnershipQuery+": the holder's session ends", count, " "+causeOf(base, "", []string{onlyOwnershipQuery})+" ")
	}
	for _, cell := range cells {
		of := func(r report.Result) string { return outcome(r, cell) }
		row(units.Markdown(cell), of, " "+units.Markdown(causeOf(base, cell, units.Names(all, of)))+" ")
	}
}

const onlyOwnershipQuery = "**" + verdict.OwnershipQuery + "**"

func kept(r report.Result) string {
	var n report.Tally
	for _, t := range r.Trials {
		if t.Outcome() != report.Pass || t.InapplicableReason() == "" {
			n.Add(t.Outcome())
		}
	}
	return fmt.Sprintf("%d of %d", n.Pass, n.Total())
}

// outcome describes the result of a cell: the broken guarantees, or why it is unknown.
func outcome(r report.Result, cell string) string {
	i := slices.IndexFunc(r.Trials, func(t report.Trial) bool { return t.Provocation == cell })
	if i < 0 {
		return "not run"
	}
	t := r.Trials[i]
	var names []string
	for _, v := range t.Verdicts {
		if v.Result == t.Outcome() && v.Result != report.Pass {
			names = append(names, v.Guarantee)
		}
	}
	switch t.Outcome() {
	case report.Pass:
		if t.InapplicableReason() != "" {
			return "not applicable"
		}
		return "kept"
	case report.Fail:
		return "**" + strings.Join(names, ", ") + "**"
	}
	return "unknown: " + strings.Join(names, ", ")
}

// cause explains failed cells by the library's source. Line numbers refer to the newest version.
type cause struct {
	subject string
	cells   string // a regular expression for their names
	broken  string // a guarantee
	text    string
}

var causes = []cause{
	{"lock/curator", "", verdict.OwnershipQuery, "isAcquiredInThisProcess counts threads in memory (InterProcessMutex.java line 109); only release removes them"},
	{"lock/curator", "wrapped-numbers", verdict.MutualExclusion, "the numbers are compared as text (LockInternals.java lines 138 and 152)"},
	{"lock/curator", "getChildren2", verdict.ClaimValidity, "the list is requested again in the next session, and the node of the one before, which the servers have not removed yet, is first (LockInternals.java lines 231 to 236)"},
	{"election/curator-latch", "wrapped-numbers", verdict.MutualExclusion, "the numbers are compared as text, as in lock/curator"},
	{"election/curator-latch", "getChildren2", verdict.ClaimValidity, "the list is requested again in the next session, and the node of the one before is taken for its own (CURATOR-696, fixed after 5.4.0)"},
	{"election/curator-latch", "acquire", verdict.NoOrphan, "not known: a node of the living session was in line, and its client neither led nor waited; alone the cell kept every guarantee in two runs"},
	{"election/curator-selector", "wrapped-numbers", verdict.MutualExclusion, "the numbers are compared as text, as in lock/curator, on which it is built"},
	{"election/curator-selector", "", verdict.OwnershipQuery, "as in lock/curator"},
	{"lock/kazoo", "", verdict.OwnershipQuery, "is_acquired is only cleared by release (recipe/lock.py line 342)"},
	{"lock/kazoo", "wrapped-numbers", verdict.MutualExclusion, "the numbers are compared as text (recipe/lock.py lines 290 and 308)"},
	{"queue/kazoo", "delete", verdict.NoLoss, "a repeated get takes its own delete for another consumer's (recipe/queue.py lines 85 and 99 to 103)"},
	{"queue/kazoo-locking", "", verdict.Progress, "the watch returns at every event that is not of type CHILD, and no other is set (recipe/queue.py lines 298 to 300)"},
	{"lock/zookeeper-writelock", "", verdict.OwnershipQuery, "isOwner compares two texts in memory (WriteLock.java line 290); the end of the session changes neither"},
	{"lock/zookeeper-writelock", "create #", verdict.NoOrphan, "the node that is found again has no folder in its name, and is never the owner (line 190)"},
	{"lock/zookeeper-writelock", "delete #", verdict.NoOrphan, "unlock tries its delete once, and forgets the node (lines 122 to 146)"},
	{"lock/zookeeper-writelock", "(wait|notification) #.*/(session|client)|/(session|client.freeze)", verdict.Progress, "the session ended while it waited: the watcher's call of lock fails, which is only logged (lines 161 to 165)"},
	{"lock/zookeeper-writelock", "", verdict.Progress, "the node ahead was deleted between the list and exists, and no request follows (lines 239 to 256)"},
	{"queue/zookeeper", "", verdict.NoLoss, "an exception of delete leaves the method after the data was read (DistributedQueue.java lines 193 and 248)"},
}

func causeOf(base, cell string, broken []string) string {
	failed := slices.ContainsFunc(broken, func(s string) bool { return strings.HasPrefix(s, "**") })
	for _, c := range causes {
		if failed && c.subject == base && regexp.MustCompile(c.cells).MatchString(cell) && slices.ContainsFunc(broken, func(s string) bool { return strings.Contains(s, c.broken) }) {
			return c.text
		}
	}
	if failed {
		return "not explained"
	}
	return ""
}
