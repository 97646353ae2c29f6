package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Schema is the version of the history format that this code writes.
const Schema = "zkbench.history/v3"

const (
	schemaPrefix  = "zkbench.history/v"
	schemaVersion = 3
)

// Header is the first line of a history: what is needed to judge the records
// with nothing else at hand.
type Header struct {
	Schema string `json:"schema"` // filled in by the Writer
	Trial  string `json:"trial"`
	Cell
	Repetition int      `json:"repetition,omitempty"` // which trial of its cell it is, from 1; 0 where there is only one
	Again      int      `json:"again,omitempty"`      // how often it was played before, and nothing came of it: a fault had missed its step
	Seed       uint64   `json:"seed"`
	Recipe     string   `json:"recipe"`            // of the subject: lock, election or queue
	Variant    string   `json:"variant,omitempty"` // whom its waiters watch: parent or predecessor; polling; "" is unknown
	Promises   Promises `json:"promises"`          // of the subject to its users; what is absent is not promised
	// Guarantees are the names of the verdicts that the scenario asks for. Empty
	// means all that apply to the operations in the history.
	Guarantees []string `json:"guarantees,omitempty"`
	// Expect are the guarantees that the subject is known to break under the
	// provocation. The trial is as it should be when each of these fails.
	Expect []string `json:"expect,omitempty"`
	// Formulas say in words how many notifications are expected of the subject, by
	// what causes them ("hand-off", "item", "flap").
	Formulas map[string]string `json:"formulas,omitempty"`
	// Thresholds are the scenario's conditions on the metrics.
	Thresholds []string `json:"thresholds,omitempty"`
}

// Promises are what a subject promises its users. What it does not promise is not judged.
type Promises struct {
	Exclusive bool   `json:"exclusive,omitempty"` // one holder or leader at a time
	FIFO      bool   `json:"fifo,omitempty"`      // grants in the order of the waiters' nodes; items in the order of their puts
	Delivery  string `json:"delivery,omitempty"`  // of a queue: exactly-once, at-least-once or at-most-once
	Requeues  bool   `json:"requeues,omitempty"`  // a client that has released stands in line again by itself
	Deadline  bool   `json:"deadline,omitempty"`  // a holder stops by itself when its session may have expired
	Events    bool   `json:"events,omitempty"`    // a holder is told that its grant is suspended, restored or lost
}

// Cell is what is measured: one subject at one count of clients with one choice of
// settings. A cell may be run several times, as several trials.
type Cell struct {
	Scenario    string            `json:"scenario"`
	Subject     string            `json:"subject"`
	Clients     int               `json:"clients"`
	Params      map[string]string `json:"params,omitempty"`      // the settings, as in result.json; durations as Go writes them
	Base        string            `json:"base,omitempty"`        // the subject with which the others are compared
	Provocation string            `json:"provocation,omitempty"` // what was done to the subject on purpose, in a zoo or an audit
	Step        string            `json:"step,omitempty"`        // of an audit: where the fault struck: "next exists #1", or "all"
	Fault       string            `json:"fault,omitempty"`       // of an audit: what went wrong there: "reply.drop"
	Phases      string            `json:"phases,omitempty"`      // a digest of what its phases do: equal where they do the same
}

// Beside says whether two cells differ in nothing but their subject.
func (c Cell) Beside(d Cell) bool {
	return c.Scenario == d.Scenario && c.Clients == d.Clients && c.Provocation == d.Provocation && maps.Equal(c.Params, d.Params)
}

// The errors of a history that another version of zkbench wrote.
var (
	ErrNewer = errors.New("written by a newer zkbench: use that version, or upgrade this one")
	ErrOlder = errors.New("written by an older zkbench, whose histories this one cannot read: judge it with that version, or run it again")
)

func parseHeader(line []byte) (Header, error) {
	var probe struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &probe); err != nil {
		return Header{}, fmt.Errorf("the first line is no history header: %w", err)
	}
	if err := checkSchema(probe.Schema); err != nil {
		return Header{}, err
	}
	var h Header
	if err := strict(line, &h); err != nil {
		return Header{}, fmt.Errorf("history header: %w", err)
	}
	return h, nil
}

// checkSchema looks at the version before the fields, so that a newer history
// is refused for being newer and not for a field that we do not know.
func checkSchema(schema string) error {
	digits, ok := strings.CutPrefix(schema, schemaPrefix)
	version, err := strconv.Atoi(digits)
	if !ok || err != nil || version < 1 {
		return fmt.Errorf("the first line has schema %q, want %q: not a zkbench history", schema, Schema)
	}
	switch {
	case version > schemaVersion:
		return fmt.Errorf("schema %q, this zkbench reads %q: %w", schema, Schema, ErrNewer)
	case version < schemaVersion:
		return fmt.Errorf("schema %q, this zkbench reads %q: %w", schema, Schema, ErrOlder)
	}
	return nil
}
