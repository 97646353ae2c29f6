package chaos

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are a fault's parameters with defaults. They collect parse errors, which err returns, so
// that a fault's build function returns none.
type settings struct {
	values map[string]string
	errs   *[]error
}

func (k Kind) settings(given map[string]string) (settings, error) {
	s := settings{values: map[string]string{}, errs: new([]error)}
	known := make([]string, len(k.Params))
	for i, p := range k.Params {
		known[i] = p.Name
		s.values[p.Name] = p.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return s, &UnknownError{fmt.Sprintf("%q is no parameter of it", name), name, known}
		}
		s.values[name] = given[name]
	}
	return s, nil
}

func (s settings) err() error { return errors.Join(*s.errs...) }

// bad records an invalid value of a parameter.
func (s settings) bad(name, format string, args ...any) {
	*s.errs = append(*s.errs, fmt.Errorf("parameter %s: %q %s", name, s.values[name], fmt.Sprintf(format, args...)))
}

// unknown records a value of a parameter that is not one of the known ones.
func (s settings) unknown(name, problem string, known []string) {
	value := s.values[name]
	*s.errs = append(*s.errs, &UnknownError{fmt.Sprintf("parameter %s: %q %s", name, value, problem), value, known})
}

func (s settings) text(name string) string { return s.values[name] }

// duration parses a parameter that is a duration of at least 0.
func (s settings) duration(name string) time.Duration {
	d, err := time.ParseDuration(s.values[name])
	if err != nil || d < 0 {
		s.bad(name, "is no duration; write 200ms, 1.5s")
	}
	return d
}

// number parses an integer parameter from least to most.
func (s settings) number(name string, least, most int) int {
	n, err := strconv.Atoi(s.values[name])
	if err != nil || n < least || n > most {
		s.bad(name, "is no whole number from %d to %d", least, most)
	}
	return n
}

// positive parses a parameter that is a number above 0, up to most.
func (s settings) positive(name string, most float64) float64 {
	x, err := strconv.ParseFloat(s.values[name], 64)
	if err != nil || !(x > 0 && x <= most) {
		s.bad(name, "is no number over 0 and up to %g", most)
	}
	return x
}

// truth parses a parameter that is true or false.
func (s settings) truth(name string) bool {
	b, err := strconv.ParseBool(s.values[name])
	if err != nil {
		s.bad(name, "is neither true nor false")
	}
	return b
}

// choice parses a parameter whose value is one of the words.
func (s settings) choice(name string, words ...string) string {
	if !slices.Contains(words, s.values[name]) {
		s.bad(name, "is none of %s", strings.Join(words, ", "))
	}
	return s.values[name]
}
