package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"
)

// end is the last line of a complete history. Without it a history whose writer died between two
// frames would look complete.
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
		return nil, nil, fmt.Errorf("a line has one record, under its kind; this one has %d", len(fields))
	}
	for kind, body := range fields {
		if kind == "end" {
			e := new(end)
			return nil, e, strict(body, e)
		}
		t, ok := kinds[kind]
		if !ok {
			return nil, nil, fmt.Errorf("no kind of record is called %q", kind)
		}
		r := reflect.New(t).Interface().(Record)
		if err := strict(body, r); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", kind, err)
		}
		if err := timely(reflect.ValueOf(r).Elem()); err != nil {
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

// timely rejects a duration or a time in the value that no trial can have.
func timely(v reflect.Value) error {
	switch {
	case v.Type() == durations:
		if d := time.Duration(v.Int()); d < -longest || d > longest {
			return fmt.Errorf("%v is longer than a trial, which takes at most %v", d, longest)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return timely(v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			if err := timely(v.Index(i)); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if err := timely(v.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", v.Type().Field(i).Name, err)
			}
		}
	}
	return nil
}

// strict decodes one JSON value and rejects unknown fields: a misspelt field would be empty
// evidence.
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
