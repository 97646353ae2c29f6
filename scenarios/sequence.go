package scenarios

import "regexp"

// sequentialName matches the end of a name that a sequential create has made.
var sequentialName = regexp.MustCompile(`[-0-9][0-9]{9}$`)
