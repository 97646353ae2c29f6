// Package host is zkbench's side of the subject protocol (docs/PROTOCOL.md): it starts a driver's
// processes, exchanges lines of JSON with them, and makes a [recipes.Subject] from their hello.
//
//	subject := host.Subject(host.Command{Name: "lock/mine", Args: []string{"python3", "driver.py"}})
//
// # Files
//
// process.go starts and stops a process. talk.go sends requests and reads replies, breach.go
// describes broken rules. greet.go sends hello, clock.go maps the driver's clock. client.go is a
// client of the recipe, answer.go interprets replies, subject.go combines them.
package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/zkbench/zkbench/recipes"
)

// Command starts a driver.
type Command struct {
	Name      string   // of the subject: lock/..., election/... or queue/...
	Args      []string // the program and its arguments
	Env       []string // KEY=value, in addition to this process's
	Dir       string   // working directory; "" is the current one
	Processes int      // minimum number of processes for the clients; 0 is as few as can carry them
}

// Split splits a command line into words as a shell would, without running one.
func Split(line string) ([]string, error) {
	words, err := shellquote.Split(line)
	if err == nil && len(words) == 0 {
		err = fmt.Errorf("no program is named")
	}
	return words, err
}

// RecipeOf returns the recipe in a subject's name.
func RecipeOf(name string) (recipes.Recipe, error) {
	first, rest, _ := strings.Cut(name, "/")
	r := recipes.Recipe(first)
	if rest == "" || !slices.Contains([]recipes.Recipe{recipes.RecipeLock, recipes.RecipeElection, recipes.RecipeQueue}, r) {
		return "", fmt.Errorf("%q has no kind: name it lock/NAME, election/NAME or queue/NAME", name)
	}
	return r, nil
}
