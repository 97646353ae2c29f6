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

// Header is the first line of a history. It contains all data needed to evaluate the records.
type Header struct {
	Schema string `json:"schema"` // set by [NewWriter]
	Trial  string `json:"trial"`
	Cell
	Repetition      int      `json:"repetition,omitempty"` // number of the trial in its cell, from 1; 0 if it is the only one
	EarlierAttempts int      `json:"again,omitempty"`      // number of earlier attempts whose fault missed its step
	Look            int      `json:"look,omitempty"`       // number of the comparison's evaluation after this trial; 0 if there is only one
	Seed            uint64   `json:"seed"`
	Recipe          string   `json:"recipe"`            // of the subject: lock, election, queue, rwlock or semaphore
	Permits         int      `json:"permits,omitempty"` // of a semaphore
	Paths           int      `json:"paths,omitempty"`   // number of contested nodes, if there are several; see [Header.PathOf]
	Variant         string   `json:"variant,omitempty"` // parent, predecessor or polling; "" if unknown
	Promises        Promises `json:"promises"`          // a promise that is absent is not made
	// Guarantees are the guarantees that the scenario checks. If empty, every guarantee that applies
	// to the operations in the history is checked.
	Guarantees []string `json:"guarantees,omitempty"`
	// Expect are the guarantees that the subject is known to break. The trial passes if each of these
	// fails.
	Expect     []string          `json:"expect,omitempty"`
	Formulas   map[string]string `json:"formulas,omitempty"`
	Thresholds []string          `json:"thresholds,omitempty"`
}

// Promises are a subject's promises. A guarantee that it does not promise is not checked.
type Promises struct {
	Exclusive bool   `json:"exclusive,omitempty"` // one holder or leader at a time; for a semaphore, as many as it has permits; readers may share
	FIFO      bool   `json:"fifo,omitempty"`      // grants in the order of the waiters' nodes; items in the order of their puts
	Delivery  string `json:"delivery,omitempty"`  // of a queue: exactly-once, at-least-once or at-most-once
	Writers   bool   `json:"writers,omitempty"`   // readers do not starve a writer
	Requeues  bool   `json:"requeues,omitempty"`  // a client that has released rejoins the line by itself
	Deadline  bool   `json:"deadline,omitempty"`  // a holder stops by itself when its session may have expired
	Events    bool   `json:"events,omitempty"`    // a holder is notified that its grant is suspended, restored or lost
}

// Cell is a combination of subject, number of clients and parameters. A run may execute it several
// times, in separate trials.
type Cell struct {
	Scenario string            `json:"scenario"`
	Subject  string            `json:"subject"`
	Clients  int               `json:"clients"`
	Params   map[string]string `json:"params,omitempty"`      // the settings, as in result.json; durations in Go's format
	Base     string            `json:"base,omitempty"`        // the subject with which the others are compared
	Script   string            `json:"provocation,omitempty"` // the script of a zoo or an audit
	Step     string            `json:"step,omitempty"`        // of an audit: the step, such as "next exists #1", or "all"
	Fault    string            `json:"fault,omitempty"`       // of an audit: the fault, such as "reply.drop"
	Phases   string            `json:"phases,omitempty"`      // a hash of its phases
}

// EqualExceptSubject reports whether two cells differ only in their subject.
func (c Cell) EqualExceptSubject(d Cell) bool {
	return c.Scenario == d.Scenario && c.Clients == d.Clients && c.Script == d.Script && maps.Equal(c.Params, d.Params)
}

// The errors of a file that another version of zkbench wrote.
var (
	ErrNewer = errors.New("written by a newer zkbench: upgrade this one, or use that version")
	ErrOlder = errors.New("written by an older zkbench, whose files this one cannot read: use that version, or repeat the run")
)

func parseHeader(line []byte) (Header, error) {
	var probe struct{ Schema string }
	if err := json.Unmarshal(line, &probe); err != nil {
		return Header{}, fmt.Errorf("the first line is not a history header: %w", err)
	}
	if err := CheckSchema(probe.Schema, Schema); err != nil {
		return Header{}, fmt.Errorf("first line: %w", err)
	}
	var h Header
	if err := strict(line, &h); err != nil {
		return Header{}, fmt.Errorf("history header: %w", err)
	}
	if h.Paths < 0 || h.Paths > MaxPaths {
		return Header{}, fmt.Errorf("history header: %d paths, want 0 to %d", h.Paths, MaxPaths)
	}
	return h, nil
}

// CheckSchema returns an error if a file has another schema than want, such as "zkbench.history/v3". It
// must be called before the fields are decoded, so that the error for a newer file is about its version,
// and not about an unknown field.
func CheckSchema(schema, want string) error {
	kind, wantVersion, _ := strings.Cut(want, "/v")
	known, _ := strconv.Atoi(wantVersion)
	digits, ok := strings.CutPrefix(schema, kind+"/v")
	version, err := strconv.Atoi(digits)
	switch {
	case !ok || err != nil || version < 1:
		return fmt.Errorf("schema %q is not a %s (want %q)", schema, strings.Replace(kind, ".", " ", 1), want)
	case version > known:
		return fmt.Errorf("schema %q, but this zkbench reads %q: %w", schema, want, ErrNewer)
	case version < known:
		return fmt.Errorf("schema %q, but this zkbench reads %q: %w", schema, want, ErrOlder)
	}
	return nil
}
