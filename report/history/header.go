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

// Header is the first line of a history: everything that is needed to evaluate the records.
type Header struct {
	Schema string `json:"schema"` // set by the Writer
	Trial  string `json:"trial"`
	Cell
	Repetition int      `json:"repetition,omitempty"` // number of the trial in its cell, from 1; 0 if it is the only one
	Again      int      `json:"again,omitempty"`      // number of earlier attempts whose fault missed its step
	Look       int      `json:"look,omitempty"`       // number of the evaluation of its comparison that follows; 0 if there is only one
	Seed       uint64   `json:"seed"`
	Recipe     string   `json:"recipe"`            // of the subject: lock, election, queue, rwlock or semaphore
	Permits    int      `json:"permits,omitempty"` // of a semaphore
	Variant    string   `json:"variant,omitempty"` // parent, predecessor or polling; "" is unknown
	Promises   Promises `json:"promises"`          // absent promises are not made
	// Guarantees are the guarantees that the scenario checks. Empty means every guarantee that applies to the
	// operations in the history.
	Guarantees []string `json:"guarantees,omitempty"`
	// Expect are the guarantees that the subject is known to break. The trial is as expected when
	// each of these fails.
	Expect     []string          `json:"expect,omitempty"`
	Formulas   map[string]string `json:"formulas,omitempty"`
	Thresholds []string          `json:"thresholds,omitempty"`
}

// Promises are a subject's promises. Guarantees that it does not promise are not evaluated.
type Promises struct {
	Exclusive bool   `json:"exclusive,omitempty"` // one holder or leader at a time; of a semaphore, as many as it has permits; readers together
	FIFO      bool   `json:"fifo,omitempty"`      // grants in the order of the waiters' nodes; items in the order of their puts
	Delivery  string `json:"delivery,omitempty"`  // of a queue: exactly-once, at-least-once or at-most-once
	Writers   bool   `json:"writers,omitempty"`   // readers do not starve a writer
	Requeues  bool   `json:"requeues,omitempty"`  // a client that has released joins the line again by itself
	Deadline  bool   `json:"deadline,omitempty"`  // a holder stops by itself when its session may have expired
	Events    bool   `json:"events,omitempty"`    // a holder is notified that its grant is suspended, restored or lost
}

// Cell is a combination of subject, number of clients and parameters. It may be run several times,
// as several trials.
type Cell struct {
	Scenario    string            `json:"scenario"`
	Subject     string            `json:"subject"`
	Clients     int               `json:"clients"`
	Params      map[string]string `json:"params,omitempty"`      // the settings, as in result.json; durations as Go writes them
	Base        string            `json:"base,omitempty"`        // the subject with which the others are compared
	Provocation string            `json:"provocation,omitempty"` // the script of a zoo or an audit
	Step        string            `json:"step,omitempty"`        // of an audit: the step, such as "next exists #1", or "all"
	Fault       string            `json:"fault,omitempty"`       // of an audit: the fault, such as "reply.drop"
	Phases      string            `json:"phases,omitempty"`      // a hash of its phases
}

// EqualExceptSubject reports whether two cells differ only in their subject.
func (c Cell) EqualExceptSubject(d Cell) bool {
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

// checkSchema checks the version before the fields, so that a newer history is rejected for its
// version and not for an unknown field.
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
