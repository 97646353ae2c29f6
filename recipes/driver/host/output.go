package host

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// output writes a process's stderr to a file, a new one for every trial. The file is created with
// its first bytes.
type output struct {
	mu   sync.Mutex
	path string // "" discards
	file *os.File
	kept string // the file with the last output; "" for none

	secrets []string // replaced in the output
	written int64    // bytes in the file
	dropped int64    // bytes beyond fileLimit
	tail    []byte   // the end of the output, at most tailLimit
}

// fileLimit bounds a file, in bytes. Output beyond it is dropped, except for the last tailLimit
// bytes.
const fileLimit = 4 << 20

// hide makes the output replace these texts.
func (o *output) hide(secrets []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.secrets = slices.Clone(secrets)
}

// tailLimit is the size of the tail, in bytes.
const tailLimit = 4096

// Write implements io.Writer. Output that cannot be stored is dropped: the process must not block.
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

// to switches to another file, if path is not "" with an empty tail.
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

// where returns the file, or "" or it is empty.
func (o *output) where() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept
}

// lastLine returns the last line that begins without a space, such as an error before a stack
// trace, or else the last line; "" without output.
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

// end returns the last lines of output, at most endLines.
func (o *output) end() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.Split(strings.ToValidUTF8(strings.TrimSpace(string(o.tail)), ""), "\n")
	return strings.Join(all[max(0, len(all)-endLines):], "\n")
}

const endLines = 8
