package spec

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/units"
)

// VersionKey is the name of the trial parameter that contains the version of ZooKeeper.
const VersionKey = "version"

var versionName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$`)

// Versions returns the versions of ZooKeeper that the scenario lists, in order. An entry is NAME=FROM or
// FROM; the default name of an image is its reference, that of a folder its last part.
func (s *Scenario) Versions() (all []ensembles.Version) {
	for i, entry := range slices.Concat(s.Images, s.Homes) {
		name, from, named := strings.Cut(entry, "=")
		if !named {
			name, from = "", entry
		}
		usual := from
		if i >= len(s.Images) {
			usual = filepath.Base(from)
		}
		all = append(all, ensembles.Version{Name: cmp.Or(name, usual), From: from})
	}
	return all
}

func (s *Scenario) Upgrades() bool {
	return slices.ContainsFunc(s.Phases, func(p Phase) bool { return slices.Contains(p.FaultNames(), chaos.MemberUpgrade) })
}

// PerEnsemble returns the versions of each ensemble of the scenario: one version for each ensemble, or
// all for one if members are upgraded. A scenario without versions has one ensemble with none.
func (s *Scenario) PerEnsemble() (out [][]ensembles.Version) {
	all := s.Versions()
	if len(all) == 0 || s.Upgrades() {
		return [][]ensembles.Version{all}
	}
	for i := range all {
		out = append(out, all[i:i+1])
	}
	return out
}

// versionsLabel returns the version of a trial for results; "" if the scenario lists fewer than two
// versions, so that runs of different single versions can be compared.
func (c Cell) versionsLabel() string {
	if c.Scenario == nil || len(c.Scenario.Versions()) < 2 {
		return ""
	}
	return strings.Join(units.Names(c.versions, func(v ensembles.Version) string { return v.Name }), " to ")
}

// VersionSuffix returns the part of the trial's name for its version; "" if there is only one version.
func (c Cell) VersionSuffix() string {
	if len(c.versions) != 1 || c.versionsLabel() == "" {
		return ""
	}
	return "-" + invalidNameChars.ReplaceAllString(c.versions[0].Name, "_")
}

func (s *Scenario) validateVersions(bad ProblemFunc) {
	field, word := "images", "NAME=IMAGE"
	if len(s.Homes) > 0 {
		field, word = "homes", "NAME=FOLDER"
		if len(s.Images) > 0 {
			bad("homes", "homes and images cannot be combined, because an ensemble runs either as containers or as local JVMs: remove one")
			return
		}
	}
	var files []string
	all := s.Versions()
	for i, v := range all {
		at := field + "." + strconv.Itoa(i)
		file := invalidNameChars.ReplaceAllString(v.Name, "_")
		switch {
		case v.From == "":
			bad(at, "does not name an image or a folder: want an entry like %s", word)
		case !versionName.MatchString(v.Name):
			bad(at, "%q cannot be the name of a version, which consists of letters, digits and . _ : / @ + -; give it a name: %s", v.Name, word)
		case slices.Contains(files, file):
			bad(at, "another version is already named %s; rename one: %s", v.Name, word)
		}
		files = append(files, file)
	}
	switch {
	case len(all) > 1 && (len(s.Specimens) > 0 || s.AuditPhase() != nil):
		bad(field, "an audit or a zoo runs one version of ZooKeeper: run it once for each version")
	case len(all) > 1 && s.Params[VersionKey] != "":
		bad("params."+VersionKey, "distinguishes the trials of several versions: choose another name")
	case s.Base != "" && s.Upgrades():
		bad("base", "an upgrade affects all trials on the ensemble, and compared trials take turns on it: remove base")
	}
}

// CheckUpgrades returns an error unless members are upgraded to each of the versions except the first.
func (s *Scenario) CheckUpgrades(all []ensembles.Version) error {
	names := units.Names(all, func(v ensembles.Version) string { return v.Name })
	if len(all) < 2 {
		return fmt.Errorf("%s upgrades members from one version of ZooKeeper to another: name two, old and new, like --image zookeeper:3.8,zookeeper:3.9 or "+
			"--zookeeper-home /opt/apache-zookeeper-3.8.4-bin,/opt/apache-zookeeper-3.9.3-bin; to try it with one build under two names: --zookeeper-home old=FOLDER,new=FOLDER", s.Name)
	}
	used := names[:1:1]
	for at, f := range s.Faults() {
		if f.Fault != chaos.MemberUpgrade {
			continue
		}
		to := chaos.UpgradesTo(f.Params["to"], names)
		if !slices.Contains(names, to) {
			return fmt.Errorf("%s: to: %q is not one of the versions %s%s", at, to, strings.Join(names, ", "), units.Nearest(to, append(names, "old", "new")))
		}
		used = append(used, to)
	}
	for _, name := range names {
		if !slices.Contains(used, name) {
			return fmt.Errorf("%s does not upgrade any member to %s: name only two versions, old and new, or add a fault that upgrades to it (params: {to: %s})", s.Name, name, name)
		}
	}
	return nil
}
