package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.md
var helpTexts embed.FS

// topics are the help topics that are not commands.
var topics = []struct{ name, short string }{
	{"metrics", "What each metric means and how it is measured"},
	{"recipes", "What is tested, and how to add a recipe of your own"},
	{"drivers", "How to test a recipe of your own in any language: the subject protocol, and templates"},
	{"faults", "What can go wrong, and how to add a fault"},
	{"ensembles", "What it runs on: TLS, passwords, and somebody else's ensemble with commands for its members"},
	{"scenarios", "How to write a scenario"},
	{"violations", "How to read a violation, and what zkbench is not"},
}

func helpTopics() []*cobra.Command {
	var out []*cobra.Command
	for _, t := range topics {
		out = append(out, &cobra.Command{Use: t.name, Short: t.short, Long: page(t.name)})
	}
	return out
}

// page returns the text of a help page.
func page(name string) string {
	text, err := helpTexts.ReadFile("help/" + name + ".md")
	if err != nil {
		panic(err) // a missing page is a bug
	}
	return strings.TrimSpace(withRegistered(string(text)))
}
