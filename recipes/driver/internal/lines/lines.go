// Package lines has the lines of the subject protocol (docs/PROTOCOL.md): one JSON object
// each, requests one way, answers and events the other.
package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Protocol is the version that is spoken here.
const Protocol = 1

// Limits of the protocol, in bytes.
const (
	MaxLine = 64 << 10 // of a line, without its end
	MaxItem = 1 << 10  // of a queue's item
)

// The kinds of error.
const (
	Failed      = "failed"
	Unknown     = "unknown"
	Cancelled   = "cancelled"
	Timeout     = "timeout"
	Lost        = "lost"
	Unsupported = "unsupported"
)

// Request is what zkbench sends.
type Request struct {
	ID        int64  `json:"id"`
	Op        string `json:"op"`
	Protocol  int    `json:"protocol,omitempty"`
	Client    *int   `json:"client,omitempty"`
	Connect   string `json:"connect,omitempty"`            // host:port,...
	TimeoutMS int64  `json:"session_timeout_ms,omitempty"` // of the session
	Path      string `json:"path,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Auth      []Auth `json:"auth,omitempty"` // with which every connection of the client authenticates
	ACL       []ACL  `json:"acl,omitempty"`  // of every node that it creates; none: open to all
	LimitMS   *int64 `json:"limit_ms,omitempty"`
	Item      string `json:"item,omitempty"`
	Value     string `json:"value,omitempty"`
}

// OpAuth is among the ops of a driver that heeds Auth and ACL.
const OpAuth = "auth"

// Auth is with what a connection authenticates.
type Auth struct {
	Scheme string `json:"scheme"` // "digest"
	Auth   string `json:"auth"`   // "user:password"
}

// ACL is one entry of a node's list: who may do what.
type ACL struct {
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
	Perms  int32  `json:"perms"` // ZooKeeper's bits; 31 is all
}

// Reply is what a driver sends: an answer, which has an id and either OK or Error, or an
// event.
type Reply struct {
	ID     *Int64 `json:"id,omitempty"`
	OK     *OK    `json:"ok,omitempty"`
	Error  *Error `json:"error,omitempty"`
	Event  string `json:"event,omitempty"`
	Client *Int64 `json:"client,omitempty"`
	At     *Int64 `json:"at,omitempty"` // of an event, ns on the driver's clock
}

// OK is what an operation returns. Most of it is absent most of the time.
type OK struct {
	Times
	Now     *Int64  `json:"now,omitempty"` // ns on the driver's clock
	Session *Int64  `json:"session,omitempty"`
	Token   *Int64  `json:"token,omitempty"`
	Node    string  `json:"node,omitempty"`
	Item    *string `json:"item,omitempty"`
	Holds   *bool   `json:"holds,omitempty"`
	*Hello
}

// Times are when the recipe's own call was made and when it returned, in ns on the
// driver's clock: both or neither.
type Times struct {
	Called *Int64 `json:"called,omitempty"`
	At     *Int64 `json:"at,omitempty"`
}

// Hello is what a driver says of itself.
type Hello struct {
	Protocol   int      `json:"protocol"`
	Recipe     string   `json:"recipe"`
	About      string   `json:"about,omitempty"`
	Variant    string   `json:"variant,omitempty"`
	Promises   Promises `json:"promises,omitzero"`
	Ops        []string `json:"ops"`
	Events     bool     `json:"events,omitempty"`
	Requeues   bool     `json:"requeues,omitempty"`
	MaxClients int      `json:"max_clients,omitempty"`
}

// Promises are a recipe's; what is absent is not promised.
type Promises struct {
	Exclusive bool   `json:"exclusive,omitempty"`
	FIFO      bool   `json:"fifo,omitempty"`
	Delivery  string `json:"delivery,omitempty"`
}

// Error is why an operation did not return.
type Error struct {
	Times
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Kind + ": " + e.Text }

// Parse reads a driver's line. The error is the rule that the line breaks.
func Parse(line []byte) (Reply, error) {
	var r Reply
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) {
		return r, errors.New("stdout carries the protocol and nothing else: a line is one JSON object")
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("a line is one JSON object, with fields as the protocol has them: %w", err)
	}
	switch {
	case r.Event != "":
		return r, nil
	case r.ID == nil:
		return r, errors.New("a line is an answer, which has the id of its request, or an event")
	case (r.OK == nil) == (r.Error == nil):
		return r, errors.New("an answer has either ok or error")
	}
	return r, nil
}

// Int64 is a whole number as drivers write it: in full, or, where the writer's numbers are
// doubles, as a text in decimal or hexadecimal.
type Int64 int64

// UnmarshalJSON reads any of those forms.
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
		n, err = int64(f), nil // as 3.0, or 8.1e10
	}
	*i = Int64(n)
	return err
}
