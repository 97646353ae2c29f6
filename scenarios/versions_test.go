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

func TestBatches_ofVersions(t *testing.T) {
	for _, row := range []struct {
		about, text string
		sets        []string
		want        []string // each batch: its versions and its tick, and its trials
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
				"zk-3.8=/opt/zk-3.8/,1s: plain-lock-parent-zk-3.8-2-tick-1s", "zk-3.8=/opt/zk-3.8/,2s: plain-lock-parent-zk-3.8-2-tick-2s",
				"zk-3.9=/opt/zk-3.9,1s: plain-lock-parent-zk-3.9-2-tick-1s", "zk-3.9=/opt/zk-3.9,2s: plain-lock-parent-zk-3.9-2-tick-2s"}},
		{"each trial that upgrades begins with an ensemble of its own", upgradeTrial, []string{"images=[a, b]"},
			[]string{"a=a,b=b: change-lock-parent-2", "a=a,b=b: change-lock-predecessor-2"}},
	} {
		t.Run(row.about, func(t *testing.T) {
			batches, err := load(t, row.text, row.sets...).Batches()
			must(t, err)
			got := units.Names(batches, func(b spec.Batch) string {
				versions := units.Names(b.Versions, func(v ensembles.Version) string { return v.Name + "=" + v.From })
				if b.Tick > 0 {
					versions = append(versions, b.Tick.String())
				}
				return strings.Join(versions, ",") + ": " + strings.Join(units.Names(b.Cells, spec.Cell.TrialName), " ")
			})
			if !slices.Equal(got, row.want) {
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
			refused(t, Config{Scenario: load(t, row.text, row.sets...), Ensemble: row.on}.Validate(), row.want)
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
