package host

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// output keeps what a process prints on stderr in a file, another in every trial. There is
// no file before there is something in it.
type output struct {
	mu   sync.Mutex
	path string // "" is nowhere
	file *os.File
	kept string // the file that has what was printed last; "" for none

	secrets []string // are replaced in what is kept
	written int64    // bytes, in the file
	dropped int64    // bytes, beyond fileLimit
	tail    []byte   // what was printed last, at most tailLimit
}

// fileLimit bounds a file, in bytes. What is printed beyond it is dropped, but for the last
// tailLimit bytes.
const fileLimit = 4 << 20

// hide has these texts replaced in what is kept.
func (o *output) hide(secrets []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.secrets = slices.Clone(secrets)
}

// tailLimit is how much of what was printed is remembered, in bytes.
const tailLimit = 4096

// Write implements io.Writer. What cannot be kept is dropped: the process must not wait.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(b)
	if len(o.secrets) > 0 {
		b = []byte(redact(o.secrets, string(b)))
	}
	o.tail = append(o.tail, b...)
	o.tail = slices.Delete(o.tail, 0, max(len(o.tail)-tailLimit, 0))
	if o.path == "" {
		o.kept = ""
		return n, nil
	}
	if o.file == nil {
		o.file, _ = os.OpenFile(o.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	if o.file != nil {
		keep := b[:min(int64(len(b)), max(0, fileLimit-o.written))]
		_, _ = o.file.Write(keep)
		o.written += int64(len(keep))
		o.dropped += int64(len(b) - len(keep))
		o.kept = o.path
	}
	return n, nil
}

// to has what comes from now on kept in another file. What was printed so far belongs to
// that of before, and is forgotten where another file follows.
func (o *output) to(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		if o.dropped > 0 {
			fmt.Fprintf(o.file, "\n[zkbench: %d bytes were dropped here; the end follows]\n%s", o.dropped, o.tail)
		}
		_ = o.file.Close()
	}
	o.written, o.dropped = 0, 0
	o.path, o.file = path, nil
	if path != "" {
		o.kept, o.tail = "", nil
	}
}

// where is the file; "" for nowhere, and while there is nothing in it.
func (o *output) where() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept
}

// lastLine is the last line that begins without a space, as an error does where a stack
// follows, or else the last line; "" before there is any.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.Split(strings.ToValidUTF8(strings.TrimRight(string(o.tail), " \t\r\n"), ""), "\n")
	for _, line := range slices.Backward(all) {
		if line != "" && line == strings.TrimLeft(line, " \t\r") {
			return shortened(line)
		}
	}
	return shortened(all[len(all)-1])
}

// end returns the last lines that were printed, at most endLines.
func (o *output) end() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.Split(strings.ToValidUTF8(strings.TrimSpace(string(o.tail)), ""), "\n")
	return strings.Join(all[max(0, len(all)-endLines):], "\n")
}

const endLines = 8
