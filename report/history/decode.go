package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Numbered is a record and its place in the history, 1 for the first after the
// header. In the file it stands on line N+1.
type Numbered struct {
	N int
	Record
}

// Time is the latest instant that the record speaks of.
func (r Record) Time() time.Duration {
	switch {
	case r.Sample != nil:
		return r.Sample.Return
	case r.Window != nil:
		return max(r.Window.Start, r.Window.End)
	case r.Note != nil:
		return r.Note.At
	}
	return 0
}

// line is what may stand on a line after the header.
type line struct {
	Record
	End *end `json:"end,omitempty"`
}

func decode(raw []byte) (line, error) {
	if s, ok := fastSample(raw); ok {
		return line{Record: Record{Sample: s}}, s.check()
	}
	var l line
	if err := strict(raw, &l); err != nil {
		return line{}, err
	}
	return l, l.check()
}

func (l line) check() error {
	set := 0
	for _, is := range []bool{l.Sample != nil, l.Window != nil, l.Note != nil, l.End != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("%d of sample, window, note and end are set, want exactly one", set)
	}
	if s := l.Sample; s != nil {
		return s.check()
	}
	return nil
}

func (s *Sample) check() error {
	switch s.Outcome {
	case OK, Failed, Unknown:
	default:
		return fmt.Errorf("sample with outcome %q, want %q, %q or %q", s.Outcome, OK, Failed, Unknown)
	}
	if s.Op == "" {
		return errors.New("sample without op")
	}
	if s.Return < s.Call {
		return fmt.Errorf("sample that returned (%v) before it was called (%v)", s.Return, s.Call)
	}
	return nil
}

// strict decodes one JSON value and refuses fields that it does not know: a
// misspelt field that is silently empty would be judged as evidence.
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
