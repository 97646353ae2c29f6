package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Schema is the version of the history format that this code writes.
const Schema = "zkbench.history/v1"

const (
	schemaPrefix  = "zkbench.history/v"
	schemaVersion = 1
)

// Header is the first line of a history: what is needed to judge the records
// with nothing else at hand.
type Header struct {
	Schema   string            `json:"schema"` // filled in by the Writer
	Trial    string            `json:"trial"`
	Scenario string            `json:"scenario,omitempty"`
	Subject  string            `json:"subject"`
	Clients  int               `json:"clients"`
	Seed     uint64            `json:"seed"`
	Params   map[string]string `json:"params,omitempty"` // as in result.json; durations as Go writes them
	// Guarantees are the names of the verdicts that the scenario asks for. Empty
	// means all that apply to the operations in the history.
	Guarantees []string `json:"guarantees,omitempty"`
	// Provocation is what was done to the subject on purpose, in a zoo.
	Provocation string `json:"provocation,omitempty"`
	// Expect are the guarantees that the subject is known to break under it. The
	// trial is as it should be when each of these fails.
	Expect []string `json:"expect,omitempty"`
	// Formulas say in words how many notifications are expected of the subject, by
	// what causes them ("hand-off", "item", "flap").
	Formulas map[string]string `json:"formulas,omitempty"`
	// Thresholds are the scenario's conditions on the metrics.
	Thresholds []string `json:"thresholds,omitempty"`
}

// Names of the params that say how a trial belongs with others of its run.
const (
	ParamTrial = "trial" // which repetition of its cell it is, from 1; absent where there is only one
	ParamBase  = "base"  // the subject with which the others are compared
)

// end is the last line of a history that was closed in order. Without it
// nothing tells a whole history from one whose writer died between two frames.
type end struct {
	Records int `json:"records"`
}

// ErrNewer says that a history was written by a newer zkbench.
var ErrNewer = errors.New("written by a newer zkbench: use that version, or upgrade this one")

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
	if version > schemaVersion {
		return fmt.Errorf("schema %q, this zkbench reads up to %q: %w", schema, Schema, ErrNewer)
	}
	return nil
}
