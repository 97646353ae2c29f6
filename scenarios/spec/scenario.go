package spec

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"golang.org/x/mod/semver"
)

// Scenario is a matrix of subjects and client counts, the phases of each trial, and the conditions
// on the result.
type Scenario struct {
	Name           string        `yaml:"name"`                  // a word that begins the names of the run folder and of the trials
	About          string        `yaml:"about,omitempty"`       // description: the question that the scenario answers
	Subjects       []string      `yaml:"subjects,flow"`         // the subjects under test (zkbench list subjects)
	Drivers        []Driver      `yaml:"drivers,omitempty"`     // subjects that are separate programs; an entry of subjects may also have these fields itself
	Apart          bool          `yaml:"apart,omitempty"`       // run compiled-in subjects in separate processes, like drivers
	Clients        []int         `yaml:"clients,flow"`          // numbers of contenders or consumers; there is a trial for each number
	Paths          int           `yaml:"paths,omitempty"`       // number of locks, elections or queues among which the clients of a trial are divided: client i uses number i modulo paths; 0 means 1
	SessionTimeout time.Duration `yaml:"session_timeout"`       // the session timeout that clients request; servers grant 2 to 20 ticks
	Permits        int           `yaml:"permits,omitempty"`     // permits of a semaphore; 0 means 2, or 1 if a phase requires a single holder
	Mix            Mix           `yaml:"mix,omitempty"`         // shares of reads and writes of a read-write lock's acquires; default: 80 and 20 in a churn or stream, only writes if hand-offs are counted
	Tick           time.Duration `yaml:"tick,omitempty"`        // ZooKeeper's tickTime; 0 uses --tick. A separate ensemble is started for each tick
	FirstZxid      int           `yaml:"first_zxid,omitempty"`  // first transaction number of each epoch; near 4294967295, the members soon roll over to a new epoch
	Images         []string      `yaml:"images,omitempty,flow"` // ZooKeeper versions as container images (IMAGE or NAME=IMAGE); each has separate ensembles, unless members are upgraded
	Homes          []string      `yaml:"homes,omitempty,flow"`  // ZooKeeper versions as folders of unpacked distributions (FOLDER or NAME=FOLDER)
	Warmup         time.Duration `yaml:"warmup,omitempty"`      // time of unrecorded load before the first trial: members that have just started are slow
	Trials         int           `yaml:"trials,omitempty"`      // number of trials of each cell, in which the subjects alternate; 0 means 1
	Base           string        `yaml:"base,omitempty"`        // the subject with which the others are compared, trial by trial
	Budget         time.Duration `yaml:"budget,omitempty"`      // time after which no cell is repeated, except for the first few trials of each; 0 means no limit
	ExtraTime      time.Duration `yaml:"extra_time,omitempty"`  // additional time for repetitions while a threshold on the base is undecided
	// Matrix varies any other field, such as session_timeout, tick, phases.0.rounds or
	// params.promise, and hold or duration of all phases: every combination of the values runs with
	// every subject and every number of clients.
	Matrix     map[string][]string `yaml:"matrix,omitempty"`
	Phases     []Phase             `yaml:"phases"`               // the parts of a trial, in the order in which they run
	Specimens  []Specimen          `yaml:"specimens,omitempty"`  // a zoo: subjects with scripts, in place of a matrix
	Thresholds []string            `yaml:"thresholds,omitempty"` // conditions on the result, such as handoff.latency.p99 < 50ms (zkbench help metrics)
	Params     map[string]string   `yaml:"params,omitempty"`     // named values for thresholds, such as promise: 12s
	Only       []string            `yaml:"only,omitempty,flow"`  // names of the trials to run; all if omitted
	Incident   Incident            `yaml:"incident,omitempty"`   // only of an incident: the report and the cause
}

// Mix gives the shares of read and write acquires of a read-write lock, as a ratio Read:Write.
type Mix struct {
	Read  int `yaml:"read"`  // acquires for reading, of read + write acquires
	Write int `yaml:"write"` // acquires for writing, of read + write acquires
}

// Limits of a scenario's fields, so that a typing error does not occupy a machine for a week.
const (
	MaxClients  = 10_000 // 64 bytes per name (stage.packet); a list of all names fits ZooKeeper's limit of 1 MiB per reply
	MaxDuration = 24 * time.Hour
	MaxRounds   = 10_000
	maxTrials   = 1000
	maxCells    = 10_000
	maxSize     = 1<<20 - 4096 // bytes; fits into a znode
)

// Validate returns all problems of the scenario, one line each, with the field, its value and the
// allowed values, or nil.
func (s *Scenario) Validate() error { return s.problems().err() }

func (s *Scenario) problems() Problems {
	ps := s.check()
	s.validateThresholds(ps.add)
	if len(ps) == 0 {
		s.validateOnly(ps.add)
	}
	return ps
}

// check returns the problems except of Thresholds, which may refer to parameters of the matrix, and of
// Only, which may name trials of other choices from the matrix.
func (s *Scenario) check() Problems {
	var ps Problems
	bad := ProblemFunc(ps.add)
	if !word.MatchString(s.Name) {
		bad("name", "%q must be a word of at most 100 letters, digits, dots, dashes and underscores that begins with a letter or digit", s.Name)
	}
	s.validateParams(bad)
	if len(s.Specimens) > 0 {
		s.validateZoo(bad)
	} else {
		s.validateCells(bad)
	}
	if s.SessionTimeout == 0 {
		bad("session_timeout", "is required, for example 10s")
	} else {
		Between(bad, "session_timeout", s.SessionTimeout, 100*time.Millisecond, MaxDuration)
	}
	Between(bad, "first_zxid", s.FirstZxid, 0, math.MaxUint32-1)
	if s.Tick != 0 {
		Between(bad, "tick", s.Tick, 100*time.Millisecond, time.Minute)
	}
	for i, d := range s.Drivers {
		d.validate(bad.below(fmt.Sprintf("drivers.%d", i)))
		if slices.ContainsFunc(s.Drivers[:i], func(o Driver) bool { return o.Name == d.Name }) {
			bad(fmt.Sprintf("drivers.%d.name", i), "another driver is already named %s", d.Name)
		}
	}
	s.validateVersions(bad)
	s.validateTrials(bad)
	Between(bad, "warmup", s.Warmup, 0, time.Hour)
	s.validatePermitsAndMix(bad)
	s.validatePaths(bad)
	s.validatePhases(bad)
	s.validateProcesses(bad)
	s.validateSuccessors(bad)
	if p := s.AuditPhase(); p != nil && len(ps) == 0 {
		if _, err := s.initialCells(p); err != nil {
			bad("phases.0.cells", "%v", err)
		}
	}
	s.validateMatrix(len(ps) == 0, bad)
	return ps
}

// word matches names of folders, files and nodes.
var word = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$`)

// durationParams are the parameters of phases of kind failover and pause.
var durationParams = []string{"promise", "slack"}

func (s *Scenario) validateParams(bad ProblemFunc) {
	plain := *s
	plain.Params = nil
	own := append(slices.Collect(maps.Keys(Cell{Scenario: &plain}.Params())), VersionKey, tickKey, "base", "expected")
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		if slices.Contains(own, name) {
			bad("params."+name, "is the name of a setting: choose another name for the parameter")
		}
		if slices.Contains(durationParams, name) {
			if d, err := time.ParseDuration(s.Params[name]); err != nil || d <= 0 {
				bad("params."+name, "%q: want a duration above 0 with a unit, for example 12s", s.Params[name])
			}
		}
	}
}

func (s *Scenario) validatePhases(bad ProblemFunc) {
	if len(s.Phases) == 0 {
		bad("phases", "at least one phase is required")
	}
	names := map[string]bool{}
	for i := range s.Phases {
		p, at := &s.Phases[i], fmt.Sprintf("phases.%d", i)
		p.validate(bad.below(at))
		p.validateForScenario(s, at, bad)
		if names[p.Name] {
			bad(at+".name", "another phase is already named %s", p.Name)
		}
		names[p.Name] = true
		if p.Kind == EpisodeKind && len(s.Phases) > 1 {
			bad(at+".kind", "an %s must be the only phase of a scenario: remove the other phases", EpisodeKind)
		}
	}
}

func (s *Scenario) validateCells(bad ProblemFunc) {
	if len(s.Subjects) == 0 {
		bad("subjects", "at least one subject is required (zkbench list subjects)")
	}
	for i, name := range s.Subjects {
		at := fmt.Sprintf("subjects.%d", i)
		if _, err := s.Find(name); err != nil {
			bad(at, "%s", s.unknownSubject(name))
		} else if slices.Contains(s.Subjects[:i], name) {
			bad(at, "%s occurs twice; to run it more often, set trials", name)
		} else if slices.ContainsFunc(s.Subjects[:i], func(other string) bool {
			return strings.ReplaceAll(other, "/", "-") == strings.ReplaceAll(name, "/", "-")
		}) {
			bad(at, "%s: its trials would have the names of another subject's trials: subjects must differ in more than / and -", name)
		}
	}
	if len(s.Clients) == 0 {
		bad("clients", "at least one number of clients is required")
	}
	for i, n := range s.Clients {
		at := fmt.Sprintf("clients.%d", i)
		Between(bad, at, n, 1, MaxClients)
		if slices.Contains(s.Clients[:i], n) {
			bad(at, "%d occurs twice; to run it more often, set trials", n)
		}
	}
}

// Incident describes a published failure of a library's users that the scenario reproduces. The
// scenario's about describes the incident.
type Incident struct {
	Thread     string `yaml:"thread"`               // URL of the report
	Version    string `yaml:"version"`              // version of the library at the time of writing, such as kazoo 2.8.0
	Introduced string `yaml:"introduced,omitempty"` // first version with the bug; "" if unknown
	Fixed      string `yaml:"fixed,omitempty"`      // first version without the bug; the newest installed version before it and the oldest from it on are run
	Cause      string `yaml:"cause"`                // the lines of the library that cause the failure
	Tried      string `yaml:"tried,omitempty"`      // if the failure cannot be reproduced: the attempts, and why they are not sufficient
}

const (
	incidentDir = "incidents/"
	// IncidentPrefix begins the scenario names of incidents.
	IncidentPrefix = "incident/"
)

// ChooseVersions selects the installed versions of an incident's library to run, if the bug is fixed:
// the newest version with the bug, which must show it, and the oldest fixed version, which must not.
func (s *Scenario) ChooseVersions() error {
	if s.Incident.Fixed == "" {
		return nil
	}
	var chosen []Specimen
	for _, x := range s.Specimens {
		broken, sound := around(x.Subject, s.Incident.Fixed)
		if broken == "" {
			return fmt.Errorf("%s is fixed in %s, and no older version is installed: run make versions to install one", s.Name, s.Incident.Fixed)
		}
		x.Subject = broken
		if chosen = append(chosen, x); sound != "" {
			chosen = append(chosen, Specimen{Subject: sound, Script: x.Script})
		}
	}
	s.Specimens = chosen
	return nil
}

// around returns the newest installed version of a subject before version, and the oldest from it on.
func around(name, version string) (before, from string) {
	var latest, first string
	for _, s := range recipes.Subjects() {
		if base, _, _ := strings.Cut(s.Name, "@"); base != name || s.Version == nil || s.Version() == "" {
			continue
		}
		switch v := "v" + s.Version(); {
		case semver.Compare(v, "v"+version) < 0 && (latest == "" || semver.Compare(v, latest) > 0):
			before, latest = s.Name, v
		case semver.Compare(v, "v"+version) >= 0 && (first == "" || semver.Compare(v, first) < 0):
			from, first = s.Name, v
		}
	}
	return before, from
}

// ExpectedViolations returns the guarantees that the specimens must break, in their order; none if all are correct.
func (s *Scenario) ExpectedViolations() (names []string) {
	for _, x := range s.Specimens {
		names = append(names, x.Caught...)
	}
	return unique(names)
}

// ReportedIncident returns the incident's part of the result; nil if the scenario is not an incident.
func (s *Scenario) ReportedIncident() *report.Incident {
	i := s.Incident
	if i == (Incident{}) {
		return nil
	}
	return &report.Incident{About: s.About, Thread: i.Thread, Version: i.Version, Introduced: i.Introduced, Fixed: i.Fixed, Cause: i.Cause, Tried: i.Tried}
}
