// Package lines defines the lines of the subject protocol (docs/PROTOCOL.md): JSON objects, requests to
// the driver and replies and events from it.
package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// Protocol is the version of the protocol that this package implements.
const Protocol = 1

// Limits of the protocol, in bytes.
const (
	MaxLine = 64 << 10 // of a line, without the newline
	MaxItem = 1 << 10  // of a queue's item
)

// Values of Error.Kind.
const (
	Failed      = "failed"
	Unknown     = "unknown"
	Cancelled   = "cancelled"
	Timeout     = "timeout"
	Lost        = "lost"
	Unsupported = "unsupported"
)

// Request is a line to a driver. Its operation determines which fields are set.
type Request struct {
	ID        int64         `json:"id"`
	Op        string        `json:"op"`
	Protocol  int           `json:"protocol,omitempty"`
	Client    *int          `json:"client,omitempty"`
	Connect   string        `json:"connect,omitempty"`
	TimeoutMS int64         `json:"session_timeout_ms,omitempty"` // session timeout
	Path      string        `json:"path,omitempty"`
	Resource  string        `json:"resource,omitempty"`
	Auth      []client.Auth `json:"auth,omitempty"`    // credentials of every connection of the client
	ACL       []ACL         `json:"acl,omitempty"`     // of every node that the client creates; empty: open access
	Permits   int           `json:"permits,omitempty"` // of a semaphore; the same for all clients of a trial
	Parties   int           `json:"parties,omitempty"` // of a barrier; the same
	LimitMS   *int64        `json:"limit_ms,omitempty"`
	Mode      string        `json:"mode,omitempty"` // of an acquire of a read-write lock: read or write
	Item      string        `json:"item,omitempty"`
	Value     string        `json:"value,omitempty"`
}

const OpAuth = "auth"

// Ops returns the names of the two operations of a recipe's clients, such as acquire and release.
func Ops(recipe string) (begin, end string) {
	switch recipe {
	case "queue":
		return "put", "take"
	case "barrier":
		return "enter", "leave"
	}
	return "acquire", "release"
}

// Acquires reports whether an operation returns with a grant.
func Acquires(op string) bool { return op == "acquire" || op == "enter" }

// Releases reports whether an operation gives a grant back.
func Releases(op string) bool { return op == "release" || op == "leave" }

// ACL is an entry of a node's access control list.
type ACL struct {
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
	Perms  int32  `json:"perms"` // ZooKeeper's bits; 31 is all
}

// Reply is a line from a driver: either a reply, with an ID and either OK or Error, or an event.
type Reply struct {
	ID     *Int64 `json:"id,omitempty"`
	OK     *OK    `json:"ok,omitempty"`
	Error  *Error `json:"error,omitempty"`
	Event  string `json:"event,omitempty"`
	Client *Int64 `json:"client,omitempty"`
	At     *Int64 `json:"at,omitempty"` // of an event, ns on the driver's clock
}

// OK is the result of an operation. Most fields are usually absent.
type OK struct {
	Times
	Now     *Int64  `json:"now,omitempty"`
	Session *Int64  `json:"session,omitempty"`
	Token   *Int64  `json:"token,omitempty"`
	Node    string  `json:"node,omitempty"`
	Item    *string `json:"item,omitempty"`
	Holds   *bool   `json:"holds,omitempty"`
	*Hello
}

// Times are the instants at which the recipe's own call was made and returned, in ns on the driver's
// clock. Either both or neither are set.
type Times struct {
	Called *Int64 `json:"called,omitempty"`
	At     *Int64 `json:"at,omitempty"`
}

// Hello is a driver's description of itself.
type Hello struct {
	Protocol   int      `json:"protocol"`
	Recipe     string   `json:"recipe"`
	About      string   `json:"about,omitempty"`
	Variant    string   `json:"variant,omitempty"`
	Promises   Promises `json:"promises,omitzero"`
	Ops        []string `json:"ops"`
	Events     bool     `json:"events,omitempty"`
	Requeues   bool     `json:"requeues,omitempty"`
	Rejoins    bool     `json:"rejoins,omitempty"`
	MaxClients int      `json:"max_clients,omitempty"`
}

// Promises are a recipe's promises. The recipe does not make a promise that is absent.
type Promises struct {
	Exclusive bool   `json:"exclusive,omitempty"`
	FIFO      bool   `json:"fifo,omitempty"`
	Delivery  string `json:"delivery,omitempty"`
	Writers   bool   `json:"writers,omitempty"` // readers do not starve a writer
}

// UnmarshalJSON rejects unknown promises: a promise whose name is misspelled would not be tested.
func (p *Promises) UnmarshalJSON(b []byte) error {
	type promises Promises
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode((*promises)(p)); err != nil {
		return fmt.Errorf("promises must be an object with any of exclusive, fifo, delivery and writers: %w", err)
	}
	return nil
}

// Error is the reply to an operation that failed.
type Error struct {
	Times
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Kind + ": " + e.Text }

// Parse parses a driver's line. The error is the rule of the protocol that the line breaks.
func Parse(line []byte) (Reply, error) {
	var r Reply
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) {
		return r, errors.New("stdout is for the protocol only: each line is one JSON object")
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("a line must be one JSON object with the fields of the protocol: %w", err)
	}
	switch {
	case r.Event != "":
		return r, nil
	case r.ID == nil:
		return r, errors.New("a line must be an event, or an answer that has the id of its request")
	case (r.OK == nil) == (r.Error == nil):
		return r, errors.New("an answer must have either ok or error")
	}
	return r, nil
}

// Int64 is an integer that drivers write as a JSON number or, if their language's numbers are doubles, as
// a decimal or hexadecimal string.
type Int64 int64

// UnmarshalJSON accepts a number, and a decimal or hexadecimal string.
func (i *Int64) UnmarshalJSON(b []byte) error {
	text := strings.ToLower(strings.Trim(string(b), `"`))
	positive, negative := strings.CutPrefix(text, "-")
	if hex, ok := strings.CutPrefix(positive, "0x"); ok {
		u, err := strconv.ParseUint(hex, 16, 64)
		if *i = Int64(u); negative {
			*i = -*i
		}
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if f, floatErr := strconv.ParseFloat(text, 64); err != nil && floatErr == nil && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
		n, err = int64(f), nil // such as 3.0 and 8.1e10
	}
	*i = Int64(n)
	return err
}
