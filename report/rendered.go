package report

// rendered are the files that renderers write into a run folder.
var rendered []string

// Rendered says that a renderer writes a file of that name into every run folder, so
// that [Clear] knows it. It is for package variables.
func Rendered(name string) { rendered = append(rendered, name) }
