package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func (c Config) checkVersions() error {
	s := c.Scenario
	all := s.Versions()
	if c.isExternal() {
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
	if s.Upgrades() {
		if err := s.CheckUpgrades(all); err != nil {
			return err
		}
	}
	for i, v := range all {
		if len(s.Homes) == 0 {
			break // images may have to be pulled, which is done during the run
		}
		if err := process.Available(v.From); err != nil {
			return fmt.Errorf("homes.%d: %w", i, err)
		}
	}
	return nil
}

func (c Config) FirstOptions() ensembles.Options {
	return c.ensembleOptions(spec.Batch{Versions: c.Scenario.PerEnsemble()[0]})
}

func (c Config) ensembleOptions(b spec.Batch) ensembles.Options {
	o := c.Ensemble
	if b.Tick > 0 {
		o.Tick = b.Tick
	}
	o.FirstZxid = uint32(c.Scenario.FirstZxid)
	o.Disks = slices.ContainsFunc(c.Scenario.Phases, func(p spec.Phase) bool { return slices.ContainsFunc(p.FaultNames(), chaos.TouchesDisks) })
	if len(b.Versions) == 0 {
		return o
	}
	o.Image, o.Home = "", ""
	if from := b.Versions[0].From; len(c.Scenario.Images) > 0 {
		o.Image = from
	} else {
		o.Home = from
	}
	if len(b.Versions) > 1 {
		o.Versions = b.Versions
	}
	return o
}

func (c Config) images() (out []string) {
	if len(c.Scenario.Images) < 2 {
		return nil // pulled when the ensemble starts
	}
	return units.Names(c.Scenario.Versions(), func(v ensembles.Version) string { return v.From })
}

func (c Config) logFolder(batches []spec.Batch, i int) string {
	b := batches[i]
	switch {
	case c.Scenario.Upgrades():
		return b.Cells[0].TrialName()
	case slices.ContainsFunc(batches, func(o spec.Batch) bool { return o.Tick != b.Tick }):
		return "tick-" + c.ensembleOptions(b).Tick.String() + b.Cells[0].VersionSuffix()
	}
	return strings.TrimPrefix(b.Cells[0].VersionSuffix(), "-")
}

// appendUnique appends what to before, a list with the given separator, unless before contains it.
func appendUnique(before, what, separator string) string {
	switch {
	case before == "":
		return what
	case slices.Contains(strings.Split(before, separator), what):
		return before
	}
	return before + separator + what
}

// describeEnsemble returns an ensemble's description and version, both with those to which members are upgraded.
func describeEnsemble(e *ensembles.Ensemble) (about, version string) {
	about, version = e.About, e.Version
	for _, v := range e.Versions[min(1, len(e.Versions)):] {
		about, version = about+", upgraded to "+v.From, version+", then "+v.Name
	}
	return about, version
}
