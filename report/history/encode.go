package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// appendSample writes the output of encoding/json without its allocations: one goroutine must
// keep up with hundreds of measuring ones.
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
	b = appendText(b, `,"err":`, s.Err)
	b = appendInt(b, `,"limit":`, int64(s.Limit))
	if s.Stuck {
		b = append(b, `,"stuck":true`...)
	}
	return append(b, '}', '}', '\n')
}

func appendRecord(b []byte, r Record) ([]byte, error) {
	kind, ok := names[reflect.TypeOf(r)]
	if !ok {
		return b, fmt.Errorf("%T is no record of a history", r)
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
