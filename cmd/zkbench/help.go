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
	{"metrics", "Metrics: definitions and methods"},
	{"recipes", "Recipes and subjects, and how to add a recipe"},
	{"drivers", "How to test a recipe of your own in any language: the subject protocol, and templates"},
	{"faults", "Faults: what they do, and how to add one"},
	{"ensembles", "Ensembles: TLS, authentication, and external ensembles with commands for their members"},
	{"scenarios", "How to write a scenario"},
	{"violations", "How to read a violation, and the limits of zkbench"},
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
