// Package host is zkbench's end of the subject protocol (docs/PROTOCOL.md): it starts a
// driver's processes, speaks with them in lines of JSON, and makes a [recipes.Subject] of
// what they say they are.
//
//	subject := host.Subject(host.Command{Name: "lock/mine", Args: []string{"python3", "driver.py"}})
//
// # How to read it
//
// process.go starts and ends a process. talk.go sends requests and reads replies, breach.go
// says which rule a wrong line breaks. greet.go says hello, clock.go keeps the map of the
// driver's clock. client.go is a client of the recipe, answer.go what the answers mean,
// subject.go the whole.
package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/zkbench/zkbench/recipes"
)

// Command is how a driver is started.
type Command struct {
	Name      string   // of the subject: lock/..., election/... or queue/...
	Args      []string // the program and its arguments
	Env       []string // KEY=value, beside those of this process
	Dir       string   // to start it in; "" is here
	Processes int      // over which the clients are spread, at least; 0 is as few as can carry them
}

// Split splits a command line into words as a shell would, without running one.
func Split(line string) ([]string, error) {
	words, err := shellquote.Split(line)
	if err == nil && len(words) == 0 {
		err = fmt.Errorf("no program is named")
	}
	return words, err
}

// RecipeOf is the recipe that a subject's name begins with.
func RecipeOf(name string) (recipes.Recipe, error) {
	first, rest, _ := strings.Cut(name, "/")
	r := recipes.Recipe(first)
	if rest == "" || !slices.Contains([]recipes.Recipe{recipes.RecipeLock, recipes.RecipeElection, recipes.RecipeQueue}, r) {
		return "", fmt.Errorf("%q does not say what it is: name it lock/NAME, election/NAME or queue/NAME", name)
	}
	return r, nil
}
