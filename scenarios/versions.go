package scenarios

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/report/units"
)

const versionKey = "version"

var versionName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$`)

// versions returns the versions of ZooKeeper that the scenario names, in order. An entry is
// NAME=FROM or FROM: the name of an image is then its reference, the name of a folder its last part.
func (s *Scenario) versions() (all []ensembles.Version) {
	for _, entry := range s.Images {
		name, from := splitVersion(entry)
		if name == "" {
			name = from
		}
		all = append(all, ensembles.Version{Name: name, From: from})
	}
	for _, entry := range s.Homes {
		name, from := splitVersion(entry)
		if name == "" {
			name = filepath.Base(from)
		}
		all = append(all, ensembles.Version{Name: name, From: from})
	}
	return all
}

func splitVersion(entry string) (name, from string) {
	if name, from, named := strings.Cut(entry, "="); named {
		return name, from
	}
	return "", entry
}

func (s *Scenario) upgrades() bool {
	return slices.ContainsFunc(s.Phases, func(p Phase) bool { return slices.Contains(p.faultNames(), chaos.MemberUpgrade) })
}

// perEnsemble returns the versions of each ensemble of the scenario: one each, or all if members
// are upgraded; none if the scenario names none.
func (s *Scenario) perEnsemble() (out [][]ensembles.Version) {
	all := s.versions()
	if len(all) == 0 || s.upgrades() {
		return [][]ensembles.Version{all}
	}
	for i := range all {
		out = append(out, all[i:i+1])
	}
	return out
}

// versionsLabel returns the version of a trial for results; "" if the scenario names fewer than
// two, so that runs of one version each can be compared.
func (c cell) versionsLabel() string {
	if c.Scenario == nil || len(c.Scenario.versions()) < 2 {
		return ""
	}
	return strings.Join(units.Names(c.versions, func(v ensembles.Version) string { return v.Name }), " to ")
}

func (c cell) versionSuffix() string {
	if len(c.versions) != 1 || c.versionsLabel() == "" {
		return ""
	}
	return "-" + invalidNameChars.ReplaceAllString(c.versions[0].Name, "_")
}

// validateVersions checks the names of images and distributions.
func (s *Scenario) validateVersions(bad problemFunc) {
	field, word := "images", "NAME=IMAGE"
	if len(s.Homes) > 0 {
		field, word = "homes", "NAME=FOLDER"
		if len(s.Images) > 0 {
			bad("homes", "an ensemble consists of containers or of local JVMs: remove homes or images")
			return
		}
	}
	var files []string
	all := s.versions()
	for i, v := range all {
		at := field + "." + strconv.Itoa(i)
		file := invalidNameChars.ReplaceAllString(v.Name, "_")
		switch {
		case v.From == "":
			bad(at, "names nothing: want an entry like %s", word)
		case !versionName.MatchString(v.Name):
			bad(at, "%q cannot be the name of a version, which consists of letters, digits and . _ : / @ + -; give it a name: %s", v.Name, word)
		case slices.Contains(files, file):
			bad(at, "another version is already named %s; rename one: %s", v.Name, word)
		}
		files = append(files, file)
	}
	switch {
	case len(all) > 1 && (len(s.Specimens) > 0 || s.audit() != nil):
		bad(field, "an audit or a zoo runs one version of ZooKeeper: run it once for each")
	case len(all) > 1 && s.Params[versionKey] != "":
		bad("params."+versionKey, "distinguishes the trials of several versions: choose another name")
	case s.Base != "" && s.upgrades():
		bad("base", "an upgrade affects all trials on the ensemble, and trials that are compared take turns there: leave base out")
	}
}

// checkVersions returns an error if the configuration lacks a version that its scenario needs.
func (c Config) checkVersions() error {
	s := c.Scenario
	all := s.versions()
	if c.external() {
		if len(all) > 0 {
			return errors.New("the version of an external ensemble cannot be chosen: remove images and homes (--image, --zookeeper-home)")
		}
		return nil
	}
	for _, of := range []struct {
		kind        ensembles.Kind
		names       []string
		flag, field string
	}{{ensembles.Container, s.Images, "--image", "images"}, {ensembles.Process, s.Homes, "--zookeeper-home", "homes"}} {
		if len(of.names) > 0 && c.Ensemble.Kind != of.kind && c.Ensemble.Kind != ensembles.Auto && c.Ensemble.Kind != "" {
			return fmt.Errorf("%s (%s in a scenario) requires --ensemble %s, not %s", of.flag, of.field, of.kind, c.Ensemble.Kind)
		}
	}
	if s.upgrades() {
		if err := s.checkUpgrades(all); err != nil {
			return err
		}
	}
	for i, v := range all {
		if len(s.Homes) == 0 {
			break // images may have to be pulled, which is not done before the run
		}
		if err := auto.Check(v.From); err != nil {
			return fmt.Errorf("homes.%d: %w", i, err)
		}
	}
	return nil
}

func (s *Scenario) checkUpgrades(all []ensembles.Version) error {
	names := units.Names(all, func(v ensembles.Version) string { return v.Name })
	if len(all) < 2 {
		return fmt.Errorf("%s upgrades members from one version of ZooKeeper to another: name two, old and new, like --image zookeeper:3.8,zookeeper:3.9 or "+
			"--zookeeper-home /opt/apache-zookeeper-3.8.4-bin,/opt/apache-zookeeper-3.9.3-bin; to try it with one build under two names: --zookeeper-home old=FOLDER,new=FOLDER", s.Name)
	}
	used := names[:1:1]
	for i, p := range s.Phases {
		for j, f := range p.Faults {
			if f.Fault != chaos.MemberUpgrade {
				continue
			}
			to := chaos.UpgradesTo(f.Params["to"], names)
			if !slices.Contains(names, to) {
				return fmt.Errorf("phases.%d.faults.%d: to: %q is not one of the versions %s%s", i, j, to, strings.Join(names, ", "), units.Nearest(to, append(names, "old", "new")))
			}
			used = append(used, to)
		}
	}
	for _, name := range names {
		if !slices.Contains(used, name) {
			return fmt.Errorf("%s upgrades no member to %s: name two versions, old and new, or a fault that goes to it (params: {to: %s})", s.Name, name, name)
		}
	}
	return nil
}

// First returns the options of the first ensemble that the run starts.
func (c Config) First() ensembles.Options { return c.on(batch{versions: c.Scenario.perEnsemble()[0]}) }

func (c Config) on(b batch) ensembles.Options {
	o := c.Ensemble
	if b.tick > 0 {
		o.Tick = b.tick
	}
	o.FirstZxid = uint32(c.Scenario.FirstZxid)
	if len(b.versions) == 0 {
		return o
	}
	o.Image, o.Home = "", ""
	if from := b.versions[0].From; len(c.Scenario.Images) > 0 {
		o.Image = from
	} else {
		o.Home = from
	}
	if len(b.versions) > 1 {
		o.Versions = b.versions
	}
	return o
}

func (c Config) images() (out []string) {
	if len(c.Scenario.Images) < 2 {
		return nil // pulled when the ensemble starts
	}
	return units.Names(c.Scenario.versions(), func(v ensembles.Version) string { return v.From })
}

func (c Config) folder(batches []batch, i int) string {
	b := batches[i]
	switch {
	case c.Scenario.upgrades():
		return b.cells[0].trialName()
	case slices.ContainsFunc(batches, func(o batch) bool { return o.tick != b.tick }):
		return "tick-" + c.on(b).Tick.String() + b.cells[0].versionSuffix()
	}
	return strings.TrimPrefix(b.cells[0].versionSuffix(), "-")
}

// also appends what to before, unless it is already there.
func also(before, what, separator string) string {
	switch {
	case before == "":
		return what
	case slices.Contains(strings.Split(before, separator), what):
		return before
	}
	return before + separator + what
}

// ofEnsemble returns a description of an ensemble, and its version with the versions that its members are
// upgraded to.
func ofEnsemble(e *ensembles.Ensemble) (about, version string) {
	about, version = e.About, e.Version
	for _, v := range e.Versions[min(1, len(e.Versions)):] {
		about, version = about+", upgraded to "+v.From, version+", then "+v.Name
	}
	return about, version
}
