package report

// renderedFiles contains the names of the files that renderers write into a run folder.
var renderedFiles []string

// Rendered registers a file that a renderer writes into every run folder, so that [Clear]
// removes it. Call it only from the initialization of package variables.
func Rendered(name string) { renderedFiles = append(renderedFiles, name) }
