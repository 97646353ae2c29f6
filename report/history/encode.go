package history

import (
	"encoding/json"
	"strconv"
	"time"
)

// The encoders write what encoding/json would write for a Record, without its
// allocations: one goroutine must keep up with hundreds that measure.

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
	b = append(b, `,"outcome":`...)
	b = appendQuoted(b, string(s.Outcome))
	b = appendInt(b, `,"token":`, s.Token)
	b = appendInt(b, `,"session":`, s.Session)
	b = appendText(b, `,"path":`, s.Path)
	b = appendText(b, `,"item":`, s.Item)
	b = appendInt(b, `,"version":`, s.Version)
	b = appendText(b, `,"err":`, s.Err)
	return append(b, '}', '}', '\n')
}

func appendWindow(b []byte, w *Window) []byte {
	b = append(b, `{"window":{"fault":`...)
	b = appendQuoted(b, w.Fault)
	b = append(b, `,"target":`...)
	b = appendQuoted(b, w.Target)
	b = append(b, `,"client":`...)
	b = strconv.AppendInt(b, int64(w.Client), 10)
	if len(w.Served) > 0 {
		b = append(b, `,"served":`...)
		served, _ := json.Marshal(w.Served) // integers always encode
		b = append(b, served...)
	}
	b = appendTime(b, `,"start":`, w.Start)
	b = appendTime(b, `,"end":`, w.End)
	b = appendText(b, `,"proof":`, w.Proof)
	b = appendText(b, `,"err":`, w.Err)
	return append(b, '}', '}', '\n')
}

func appendNote(b []byte, n *Note) []byte {
	b = append(b, `{"note":{"at":`...)
	b = strconv.AppendInt(b, int64(n.At), 10)
	b = append(b, `,"kind":`...)
	b = appendQuoted(b, n.Kind)
	b = append(b, `,"client":`...)
	b = strconv.AppendInt(b, int64(n.Client), 10)
	b = appendText(b, `,"phase":`, n.Phase)
	b = appendInt(b, `,"round":`, int64(n.Round))
	b = appendInt(b, `,"session":`, n.Session)
	b = appendInt(b, `,"token":`, n.Token)
	b = appendText(b, `,"path":`, n.Path)
	b = appendInt(b, `,"timeout":`, int64(n.Timeout))
	if len(n.Counts) > 0 {
		b = append(b, `,"counts":`...)
		counts, _ := json.Marshal(n.Counts) // a map of strings to integers always encodes
		b = append(b, counts...)
	}
	b = appendText(b, `,"text":`, n.Text)
	return append(b, '}', '}', '\n')
}

// appendText and appendInt leave out what is empty, as omitempty does.
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
		quoted, _ := json.Marshal(s) // a string always encodes
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// plain says that JSON writes s as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
