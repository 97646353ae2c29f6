package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSettings_readsValues(t *testing.T) {
	for _, row := range []struct {
		name, value string
		read        func(s settings) any
		want        any // nil: an error
	}{
		{"a duration", "1.5s", func(s settings) any { return s.duration("x") }, 1500 * time.Millisecond},
		{"a duration before now", "-1s", func(s settings) any { return s.duration("x") }, nil},
		{"a number at its least", "1", func(s settings) any { return s.number("x", 1, 3) }, 1},
		{"a number at its most", "3", func(s settings) any { return s.number("x", 1, 3) }, 3},
		{"a number over its most", "4", func(s settings) any { return s.number("x", 1, 3) }, nil},
		{"half a number", "1.5", func(s settings) any { return s.number("x", 1, 3) }, nil},
		{"a share", "0.5", func(s settings) any { return s.percent("x") }, 0.5},
		{"a share of nothing", "0", func(s settings) any { return s.percent("x") }, nil},
		{"not a number at all", "NaN", func(s settings) any { return s.percent("x") }, nil},
		{"infinity", "Inf", func(s settings) any { return s.percent("x") }, nil},
		{"true", "true", func(s settings) any { return s.boolean("x") }, true},
		{"yes", "yes", func(s settings) any { return s.boolean("x") }, nil},
		{"one of the words", "b", func(s settings) any { return s.choice("x", "a", "b") }, "b"},
		{"none of the words", "c", func(s settings) any { return s.choice("x", "a", "b") }, nil},
		{"a text", "anything", func(s settings) any { return s.text("x") }, "anything"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := Kind{Params: []Param{{Name: "x", Default: "-"}}}.settings(map[string]string{"x": row.value})
			must(t, err)
			got := row.read(s)
			if row.want == nil {
				if err := s.err(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("parameter x: %q", row.value)) {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err := s.err(); err != nil || got != row.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
