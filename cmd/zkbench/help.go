package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.md
var helpTexts embed.FS

// topics are the pages of zkbench help that belong to no verb.
var topics = []struct{ name, short string }{
	{"metrics", "What each metric means and how it is measured"},
	{"recipes", "What is tested, and how to add a recipe of your own"},
	{"faults", "What can go wrong, and how to add a fault"},
	{"scenarios", "How to write a scenario"},
	{"violations", "How to read a violation, and what zkbench is not"},
}

// helpTopics are commands that do nothing but show their text.
func helpTopics() []*cobra.Command {
	var out []*cobra.Command
	for _, t := range topics {
		text, err := helpTexts.ReadFile("help/" + t.name + ".md")
		if err != nil {
			panic(err) // a topic without its page is a mistake in the program
		}
		out = append(out, &cobra.Command{Use: t.name, Short: t.short, Long: strings.TrimSpace(withRegistered(string(text)))})
	}
	return out
}
