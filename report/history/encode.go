package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"time"
)

// appendSample appends the same text as encoding/json would write, but without its allocations: one
// goroutine must keep up with hundreds of measuring goroutines.
func appendSample(b []byte, s *Sample) []byte {
	b = append(b, `{"sample":{"client":`...)
	b = strconv.AppendInt(b, int64(s.Client), 10)
	b = appendText(b, `,"phase":`, s.Phase)
	b = appendInt(b, `,"round":`, int64(s.Round))
	b = append(b, `,"op":`...)
	b = appendQuoted(b, s.Op)
	b = appendTime(b, `,"due":`, s.Due)
	b = appendTime(b, `,"call":`, s.Call)
	b = appendTime(b, `,"return":`, s.Return)
	b = appendInt(b, `,"clock":`, int64(s.Clock))
	b = append(b, `,"outcome":`...)
	b = appendQuoted(b, string(s.Outcome))
	b = appendInt(b, `,"token":`, s.Token)
	if s.Own {
		b = append(b, `,"own":true`...)
	}
	b = appendInt(b, `,"session":`, s.Session)
	b = appendText(b, `,"path":`, s.Path)
	b = appendText(b, `,"item":`, s.Item)
	b = appendInt(b, `,"version":`, s.Version)
	b = appendInt(b, `,"zxid":`, s.Zxid)
	b = appendText(b, `,"removed":`, s.Removed)
	if s.Notified {
		b = append(b, `,"notified":true`...)
	}
	b = appendText(b, `,"err":`, s.Err)
	b = appendInt(b, `,"limit":`, int64(s.Limit))
	if s.Stuck {
		b = append(b, `,"stuck":true`...)
	}
	if s.TimedOut {
		b = append(b, `,"timedOut":true`...)
	}
	if s.Canceled {
		b = append(b, `,"canceled":true`...)
	}
	b = appendText(b, `,"mode":`, s.Mode)
	return append(b, '}', '}', '\n')
}

func appendRecord(b []byte, r Record) ([]byte, error) {
	kind, ok := names[reflect.TypeOf(r)]
	if !ok {
		return b, fmt.Errorf("%T is not a history record", r)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return b, fmt.Errorf("%s: %w", kind, err)
	}
	b = append(b, `{"`+kind+`":`...)
	b = append(b, body...)
	return append(b, '}', '\n'), nil
}

// appendText and appendInt omit empty values, as omitempty does.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendQuoted(append(b, key...), s)
}

func appendInt(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), n, 10)
}

func appendTime(b []byte, key string, d time.Duration) []byte {
	return strconv.AppendInt(append(b, key...), int64(d), 10)
}

func appendQuoted(b []byte, s string) []byte {
	if !plain(s) {
		quoted, _ := json.Marshal(s)
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// end is the last line of a complete history. Without this line, a history whose writer died between
// two frames would look complete.
type end struct {
	Records int `json:"records"`
}

func decode(raw []byte) (Record, *end, error) {
	if s, ok := fastSample(raw); ok {
		return s, nil, s.check()
	}
	var fields map[string]json.RawMessage
	if err := strict(raw, &fields); err != nil {
		return nil, nil, err
	}
	if len(fields) != 1 {
		return nil, nil, fmt.Errorf("a line must have exactly one record, with its kind as the key, but this line has %d", len(fields))
	}
	for kind, body := range fields {
		if kind == "end" {
			e := new(end)
			return nil, e, strict(body, e)
		}
		t, ok := kinds[kind]
		if !ok {
			return nil, nil, fmt.Errorf("unknown kind of record %q", kind)
		}
		r := reflect.New(t).Interface().(Record)
		if err := strict(body, r); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", kind, err)
		}
		if err := checkDurations(reflect.ValueOf(r).Elem()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", kind, err)
		}
		if s, ok := r.(*Sample); ok {
			return s, nil, s.check()
		}
		return r, nil, nil
	}
	panic("unreachable")
}

var durations = reflect.TypeFor[time.Duration]()

// checkDurations returns an error if v contains a duration or a time that no trial can have.
func checkDurations(v reflect.Value) error {
	switch {
	case v.Type() == durations:
		if d := time.Duration(v.Int()); d < -longest || d > longest {
			return fmt.Errorf("%v is longer than a trial, which takes at most %v", d, longest)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return checkDurations(v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			if err := checkDurations(v.Index(i)); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if err := checkDurations(v.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", v.Type().Field(i).Name, err)
			}
		}
	}
	return nil
}

// strict decodes one JSON value. It returns an error for unknown fields, because a misspelt field would
// otherwise be lost.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value on the line")
	}
	return nil
}

// Joined means that the harness has found the client's node in the line.
type Joined struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Token   int64         `json:"token"` // czxid of the node
	Path    string        `json:"path"`
}

// Leaving means that the harness makes the client leave the line now. If Client is -1, the round is over.
type Leaving struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`
	Session int64         `json:"session,omitempty"`
	Token   int64         `json:"token,omitempty"`
	How     string        `json:"how,omitempty"` // resign, close, lose or expire
}

// Emptied means that the harness found the queue empty after every put had returned.
type Emptied struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
}

// Holds is a recipe's answer (from isOwner, isAcquired or hasLeadership) to the question whether its
// client holds, after the client was notified of the loss of its session and before it acquired
// again.
type Holds struct {
	Asked   time.Duration `json:"asked"`
	At      time.Duration `json:"at"` // time of the answer
	Client  int           `json:"client"`
	Session int64         `json:"session"` // the session that was lost
	Holds   bool          `json:"holds"`
}

// A history whose text exceeds both limits is rejected. JSON lines of records compress to a tenth or a
// thirtieth of their size, a file made to fill the memory to a thousandth.
const (
	textFloor = 64 << 20 // bytes of text that are accepted for any file
	textRatio = 100      // bytes of text per byte of the file
)

// ErrExpands is wrapped by the error for a file whose text is too large for the size of the file.
var ErrExpands = errors.New("not a zkbench history: the decompressed text is more than a hundred times as large as the file")

// boundedReader reads the text of a compressed file, up to these limits.
type boundedReader struct {
	text       io.Reader
	compressed *countingReader
	read       int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if b.read += int64(n); b.read > textFloor && b.read > textRatio*b.compressed.n {
		return 0, ErrExpands
	}
	return n, err
}

type countingReader struct {
	io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// scanner parses a sample in the form that appendSample writes: all fields in order, without spaces or
// escapes. Nearly every line has this form, and parsing it takes a tenth of the time of encoding/json.
// Lines that differ in any way are left to encoding/json, which also finds the errors.
type scanner struct {
	raw []byte
	ok  bool
}

var sampleStart = []byte(`{"sample":{"client":`)

// fastSample returns the sample on the line; ok is false if the line is not as appendSample writes it.
func fastSample(raw []byte) (s *Sample, ok bool) {
	if !bytes.HasPrefix(raw, sampleStart) {
		return nil, false
	}
	c := scanner{raw[len(sampleStart):], true}
	s = &Sample{Client: int(c.number())}
	s.Phase = c.optionalText(`,"phase":`)
	s.Round = int(c.optionalNumber(`,"round":`))
	s.Op = c.text(`,"op":`)
	s.Due = time.Duration(c.requiredNumber(`,"due":`))
	s.Call = time.Duration(c.requiredNumber(`,"call":`))
	s.Return = time.Duration(c.requiredNumber(`,"return":`))
	s.Clock = time.Duration(c.optionalNumber(`,"clock":`))
	s.Outcome = Outcome(c.text(`,"outcome":`))
	s.Token = c.optionalNumber(`,"token":`)
	s.Own = c.skip(`,"own":true`)
	s.Session = c.optionalNumber(`,"session":`)
	s.Path = c.optionalText(`,"path":`)
	s.Item = c.optionalText(`,"item":`)
	s.Version = c.optionalNumber(`,"version":`)
	s.Zxid = c.optionalNumber(`,"zxid":`)
	s.Removed = c.optionalText(`,"removed":`)
	s.Notified = c.skip(`,"notified":true`)
	s.Err = c.optionalText(`,"err":`)
	s.Limit = time.Duration(c.optionalNumber(`,"limit":`))
	s.Stuck = c.skip(`,"stuck":true`)
	s.TimedOut = c.skip(`,"timedOut":true`)
	s.Canceled = c.skip(`,"canceled":true`)
	s.Mode = c.optionalText(`,"mode":`)
	return s, c.ok && string(c.raw) == "}}"
}

func (c *scanner) skip(key string) bool {
	if len(c.raw) < len(key) || string(c.raw[:len(key)]) != key {
		return false
	}
	c.raw = c.raw[len(key):]
	return true
}

func (c *scanner) requiredNumber(key string) int64 {
	c.ok = c.skip(key) && c.ok
	return c.number()
}

func (c *scanner) optionalNumber(key string) int64 {
	if !c.skip(key) {
		return 0
	}
	return c.number()
}

func (c *scanner) number() int64 {
	negative := c.skip("-")
	var n int64
	i := 0
	for ; i < len(c.raw) && c.raw[i] >= '0' && c.raw[i] <= '9'; i++ {
		if n > (math.MaxInt64-9)/10 {
			c.ok = false
			return 0
		}
		n = n*10 + int64(c.raw[i]-'0')
	}
	// JSON has no leading zeros.
	if i == 0 || i > 1 && c.raw[0] == '0' {
		c.ok = false
	}
	c.raw = c.raw[i:]
	if negative {
		return -n
	}
	return n
}

func (c *scanner) optionalText(key string) string {
	if !c.skip(key) {
		return ""
	}
	return c.quoted()
}

func (c *scanner) text(key string) string {
	c.ok = c.skip(key) && c.ok
	return c.quoted()
}

func (c *scanner) quoted() string {
	c.ok = c.skip(`"`) && c.ok
	for i, b := range c.raw {
		switch {
		case b == '"':
			s := word(c.raw[:i])
			c.raw = c.raw[i+1:]
			return s
		case b == '\\', b < ' ', b >= 0x7f:
			c.ok = false
			return ""
		}
	}
	c.ok = false
	return ""
}

// words are frequent texts, of which word makes no copy.
var words = []string{Acquire, Release, Write, Put, Take, string(OK), "churn", "drain"}

func word(b []byte) string {
	for _, w := range words {
		if string(b) == w {
			return w
		}
	}
	return string(b)
}
