package history

import (
	"bytes"
	"math"
	"time"
)

// scanner reads the form in which our encoder writes a sample: its fields in order, no spaces, no
// escapes. Nearly every line has it, and reading it costs a tenth of encoding/json. Lines that
// differ in any way are left to encoding/json, which also finds the errors.
type scanner struct {
	raw []byte
	ok  bool
}

var sampleStart = []byte(`{"sample":{"client":`)

// fastSample returns the sample on the line; ok is false if the line is not in the form of our
// encoder.
func fastSample(raw []byte) (s *Sample, ok bool) {
	if !bytes.HasPrefix(raw, sampleStart) {
		return nil, false
	}
	c := scanner{raw[len(sampleStart):], true}
	s = &Sample{Client: int(c.number())}
	s.Phase = c.optionalText(`,"phase":`)
	s.Round = int(c.optionalNumber(`,"round":`))
	s.Op = c.text(`,"op":`)
	s.Due = time.Duration(c.after(`,"due":`))
	s.Call = time.Duration(c.after(`,"call":`))
	s.Return = time.Duration(c.after(`,"return":`))
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
	s.Err = c.optionalText(`,"err":`)
	s.Limit = time.Duration(c.optionalNumber(`,"limit":`))
	s.Stuck = c.skip(`,"stuck":true`)
	return s, c.ok && string(c.raw) == "}}"
}

func (c *scanner) skip(key string) bool {
	if len(c.raw) < len(key) || string(c.raw[:len(key)]) != key {
		return false
	}
	c.raw = c.raw[len(key):]
	return true
}

func (c *scanner) after(key string) int64 {
	if !c.skip(key) {
		c.ok = false
		return 0
	}
	return c.number()
}

func (c *scanner) optionalNumber(key string) int64 {
	if !c.skip(key) {
		return 0
	}
	return c.number()
}

// number reads an integer. The few that are close to overflow are left to encoding/json.
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
	if !c.skip(key) {
		c.ok = false
		return ""
	}
	return c.quoted()
}

func (c *scanner) quoted() string {
	if !c.skip(`"`) {
		c.ok = false
		return ""
	}
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

func word(b []byte) string {
	switch string(b) {
	case Acquire:
		return Acquire
	case Release:
		return Release
	case Write:
		return Write
	case Put:
		return Put
	case Take:
		return Take
	case string(OK):
		return string(OK)
	case "churn":
		return "churn"
	case "drain":
		return "drain"
	}
	return string(b)
}
