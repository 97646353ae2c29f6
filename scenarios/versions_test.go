package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
)

const plainTrial = `
name: plain
subjects: [lock/parent, lock/predecessor]
clients: [2, 3]
session_timeout: 4s
phases: [{name: drain, kind: drain, rounds: 1, hold: 1ms}]
`

const upgradeTrial = `
name: change
subjects: [lock/parent, lock/predecessor]
clients: [2]
session_timeout: 4s
phases:
  - {name: there, kind: churn, duration: 5s, hold: 1ms, faults: [{at: 1s, fault: member.upgrade}]}
  - {name: back, kind: churn, duration: 5s, hold: 1ms, faults: [{at: 1s, fault: member.upgrade, params: {to: old}}]}
`

// batchesOf are the batches of a scenario, each told in a line: its versions, and its trials.
func batchesOf(t *testing.T, s *spec.Scenario) (lines []string) {
	t.Helper()
	batches, err := s.Batches()
	must(t, err)
	for _, b := range batches {
		line := strings.Join(units.Names(b.Versions, func(v ensembles.Version) string { return v.Name + "=" + v.From }), ",") + ":"
		for _, c := range b.Cells {
			line += " " + c.TrialName()
		}
		lines = append(lines, line)
	}
	return lines
}

func TestBatches_ofVersions(t *testing.T) {
	for _, row := range []struct {
		about, text string
		sets        []string
		want        []string
	}{
		{"none is named", plainTrial, nil,
			[]string{": plain-lock-parent-2 plain-lock-predecessor-2 plain-lock-parent-3 plain-lock-predecessor-3"}},
		{"one is named: its trials are called as ever, to be compared with another's", plainTrial, []string{"images=[zookeeper:3.9]", "clients=[2]"},
			[]string{"zookeeper:3.9=zookeeper:3.9: plain-lock-parent-2 plain-lock-predecessor-2"}},
		{"each image has an ensemble", plainTrial, []string{"images=[zookeeper:3.8, new=r.example.org/zk@sha256:1]", "subjects=[lock/parent]"}, []string{
			"zookeeper:3.8=zookeeper:3.8: plain-lock-parent-zookeeper_3.8-2 plain-lock-parent-zookeeper_3.8-3",
			"new=r.example.org/zk@sha256:1: plain-lock-parent-new-2 plain-lock-parent-new-3"}},
		{"folders go by their last part, and each tick has an ensemble", plainTrial,
			[]string{"homes=[/opt/zk-3.8/, /opt/zk-3.9]", "subjects=[lock/parent]", "clients=[2]", "matrix.tick=[1s, 2s]"}, []string{
				"zk-3.8=/opt/zk-3.8/: plain-lock-parent-zk-3.8-2-tick-1s", "zk-3.8=/opt/zk-3.8/: plain-lock-parent-zk-3.8-2-tick-2s",
				"zk-3.9=/opt/zk-3.9: plain-lock-parent-zk-3.9-2-tick-1s", "zk-3.9=/opt/zk-3.9: plain-lock-parent-zk-3.9-2-tick-2s"}},
		{"each trial that upgrades begins with an ensemble of its own", upgradeTrial, []string{"images=[a, b]"},
			[]string{"a=a,b=b: change-lock-parent-2", "a=a,b=b: change-lock-predecessor-2"}},
	} {
		t.Run(row.about, func(t *testing.T) {
			if got := batchesOf(t, load(t, row.text, row.sets...)); !slices.Equal(got, row.want) {
				t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
}

func TestParams_nameTheVersion(t *testing.T) {
	for _, row := range []struct {
		text, images string
		want         []string
	}{
		{plainTrial, "[a]", []string{""}},
		{plainTrial, "[a, x=b]", []string{"a", "x"}},
		{upgradeTrial, "[a, x=b]", []string{"a to x"}},
	} {
		cells, err := load(t, row.text, "images="+row.images).Cells()
		must(t, err)
		got := units.Names(cells, func(c spec.Cell) string { return c.Params()[spec.VersionKey] })
		if got = slices.Compact(got); !slices.Equal(got, row.want) {
			t.Errorf("images %s: %q, want %q", row.images, got, row.want)
		}
	}
	load(t, plainTrial, "images=[a, b]", "thresholds=[handoff.latency.p50 < version]") // it is known
}

func TestVersions_refused(t *testing.T) {
	for _, row := range []struct {
		about string
		sets  []string
		want  string
	}{
		{"containers and local JVMs", []string{"images=[a]", "homes=[b]"}, "homes: homes and images cannot be combined"},
		{"an empty entry", []string{"images=[a, '']"}, "images: does not name an image or a folder"},
		{"a name without an image", []string{"images=[a=]"}, "images: does not name an image or a folder"},
		{"a name that is no word", []string{"homes=['/opt/my zk']"}, `homes: "my zk" cannot be the name of a version`},
		{"the same twice", []string{"images=[a, a]"}, "images: another version is already named a; rename one: NAME=IMAGE"},
		{"two folders with the same last part", []string{"homes=[/a/zk, /b/zk]"}, "homes: another version is already named zk"},
		{"two names that make one name of a trial", []string{"images=['a:b', a_b]"}, "images: another version is already named a_b"},
		{"varied by the matrix", []string{"matrix.images=[a, b]"}, "matrix.images: cannot be varied in a matrix: list the values in images itself"},
		{"a parameter of that name", []string{"images=[a, b]", "params={version: 3}"}, "params.version: distinguishes the trials of several versions"},
		{"a comparison on an ensemble that changes", []string{"phases=[{name: up, kind: churn, duration: 5s, faults: [{at: 1s, fault: member.upgrade}]}]",
			"base=lock/parent", "trials=10"}, "base: an upgrade affects all trials on the ensemble"},
	} {
		t.Run(row.about, func(t *testing.T) {
			_, err := spec.Load("mine.yaml", []byte(plainTrial), row.sets...)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v\nwant %s", err, row.want)
			}
		})
	}
	name, text, err := spec.Source("audit")
	must(t, err)
	if _, err := spec.Load(name, text, "images=[a, b]"); err == nil || !strings.Contains(err.Error(), "run it once for each") {
		t.Errorf("an audit of two versions: %v", err)
	}
}

func TestConfig_checkVersions(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, "lib"), 0o755))
	must(t, os.WriteFile(filepath.Join(home, "lib", "zookeeper-3.9.3.jar"), nil, 0o644))
	for _, row := range []struct {
		about, text string
		sets        []string
		on          ensembles.Options
		want        string // "" where nothing is wrong
	}{
		{"an upgrade from nothing to nothing", upgradeTrial, nil, ensembles.Options{}, "name two, old and new, like --image"},
		{"an upgrade with one version", upgradeTrial, []string{"images=[a]"}, ensembles.Options{}, "--zookeeper-home old=FOLDER,new=FOLDER"},
		{"an upgrade of two images", upgradeTrial, []string{"images=[a, b]"}, ensembles.Options{}, ""},
		{"an upgrade between two names of one build", upgradeTrial, []string{"homes=[old=" + home + ", new=" + home + "]"}, ensembles.Options{}, ""},
		{"a version that nobody goes to", upgradeTrial, []string{"images=[a, b, c]"}, ensembles.Options{}, "change does not upgrade any member to b"},
		{"one that somebody goes to", upgradeTrial, []string{"images=[a, b, c]", "phases.back.faults=[{at: 1s, fault: member.upgrade, params: {to: b}}]"}, ensembles.Options{}, ""},
		{"one that is not named", upgradeTrial, []string{"images=[a, newer]", "phases.back.faults=[{at: 1s, fault: member.upgrade, params: {to: newest}}]"}, ensembles.Options{},
			`phases.1.faults.0: to: "newest" is not one of the versions a, newer; did you mean "newer"?`},
		{"a folder without ZooKeeper", plainTrial, []string{"homes=[" + home + ", /none]"}, ensembles.Options{}, "homes.1: no ZooKeeper found"},
		{"images for local JVMs", plainTrial, []string{"images=[a, b]"}, ensembles.Options{Kind: ensembles.Process}, "--image (images in a scenario) requires --ensemble container, not process"},
		{"folders for containers", plainTrial, []string{"homes=[" + home + "]"}, ensembles.Options{Kind: ensembles.Container}, "requires --ensemble process, not container"},
		{"somebody else's ensemble", plainTrial, []string{"images=[a]"}, ensembles.Options{Servers: []string{"zk1:2181"}}, "the version of an external ensemble cannot be chosen"},
	} {
		t.Run(row.about, func(t *testing.T) {
			err := Config{Scenario: load(t, row.text, row.sets...), Ensemble: row.on}.Validate()
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%v\nwant %s", err, row.want)
			}
		})
	}
}

func TestConfig_onChoosesTheVersion(t *testing.T) {
	given := ensembles.Options{Home: "/from/the/environment", Members: 5}
	c := Config{Scenario: load(t, plainTrial, "images=[a, b]"), Ensemble: given}
	batches, err := c.Scenario.Batches()
	must(t, err)
	if o := c.ensembleOptions(batches[1]); o.Image != "b" || o.Home != "" || o.Versions != nil || o.Members != 5 {
		t.Errorf("the second of two images: %+v", o)
	}
	c.Scenario = load(t, upgradeTrial, "homes=[old=/a, new=/b]")
	if o := c.FirstOptions(); o.Home != "/a" || len(o.Versions) != 2 || o.Versions[1] != (ensembles.Version{Name: "new", From: "/b"}) {
		t.Errorf("an upgrade: %+v", o)
	}
	c.Scenario = load(t, plainTrial)
	if o := c.FirstOptions(); o.Home != given.Home {
		t.Errorf("no version is named: %+v", o)
	}
}

func TestAlso(t *testing.T) {
	var about string
	for _, what := range []string{"a", "b", "a"} {
		about = appendUnique(about, what, "; ")
	}
	if about != "a; b" {
		t.Error(about)
	}
	e := &ensembles.Ensemble{About: "local JVMs", Version: "3.8.0", Versions: []ensembles.Version{{Name: "old", From: "/a"}, {Name: "new", From: "/b"}}}
	if about, version := describeEnsemble(e); about != "local JVMs, upgraded to /b" || version != "3.8.0, then new" {
		t.Errorf("%s; %s", about, version)
	}
}
