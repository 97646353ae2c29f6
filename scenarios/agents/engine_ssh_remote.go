package agents

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// The remote side of ssh. The command is the same for every host, without single quotes and
// exclamation marks, so that any login shell passes it to sh unchanged. The rest comes over stdin:
// the expected output of uname, the agent's arguments up to an empty line, the join file up to a
// line "end", the program's size, and the program. sh's read consumes no more than a line; head may
// read ahead, so the program comes last. Afterwards stdin is silent until it ends, which stops the
// agent.
const (
	remoteJoin    = "join.pem"
	remoteProgram = "zkbench"
	remoteFolder  = "zkbench-agent."
)

// remoteLines are run by sh. The folder is removed however the agent ends, also if stdin ends
// before the program is complete. Signals are handled after the agent has ended, which it does
// because stdin ends with the connection.
var remoteLines = []string{
	`read -r want`,
	`is=$(uname -sm)`,
	`case "$want" in ""|"$is") ;; *) echo "this host is $is, and the program is for $want: start an agent built for it with --agents wait:N" >&2; exit 1;; esac`,
	`umask 077`,
	`clear() { cd / && rm -rf "$dir"; }`,
	`dir=$(mktemp -d "${TMPDIR:-/tmp}/` + remoteFolder + `XXXXXXXX") || exit 1`,
	`trap clear EXIT`,
	`trap "exit 1" HUP INT TERM PIPE`,
	`cd "$dir" || exit 1`,
	`while IFS= read -r word && [ "$word" ]; do set -- "$@" "$word"; done`,
	`while IFS= read -r line && [ "$line" != end ]; do printf "%s\n" "$line"; done >` + remoteJoin,
	`read -r size || exit 1`,
	`head -c "$size" >` + remoteProgram,
	`[ $(wc -c <` + remoteProgram + `) -eq "$size" ] || { echo "the program has not come whole: is $dir full?" >&2; exit 1; }`,
	`chmod 700 ` + remoteProgram,
	`./` + remoteProgram + ` "$@"`,
}

// remoteScript returns one line for any login shell.
func remoteScript() string { return "exec sh -c '" + strings.Join(remoteLines, "; ") + "'" }

// uname is the output of uname -sm where a program for GOOS/GOARCH runs. For other systems the
// host's kernel decides.
var uname = map[string]string{
	"linux/amd64":  "Linux x86_64",
	"linux/arm64":  "Linux aarch64",
	"darwin/amd64": "Darwin x86_64",
	"darwin/arm64": "Darwin arm64",
}

// remoteFeed returns the content of stdin.
func remoteFeed(want string, args []string, j Join, program *io.SectionReader) io.Reader {
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s\n%s\n\n", want, strings.Join(args, "\n"))
	head.Write(j.Encode())
	fmt.Fprintf(&head, "end\n%d\n", program.Size())
	return io.MultiReader(&head, program)
}
