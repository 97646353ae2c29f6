package host

import (
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
	tail []byte // what was printed last, at most tailLimit
}

// tailLimit is how much of what was printed is remembered, in bytes.
const tailLimit = 4096

// Write implements io.Writer. What cannot be kept is dropped: the process must not wait.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, b...)
	o.tail = slices.Delete(o.tail, 0, max(len(o.tail)-tailLimit, 0))
	if o.path == "" {
		o.kept = ""
		return len(b), nil
	}
	if o.file == nil {
		o.file, _ = os.OpenFile(o.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	if o.file != nil {
		_, _ = o.file.Write(b)
		o.kept = o.path
	}
	return len(b), nil
}

// to has what comes from now on kept in another file. What was printed so far belongs to
// that of before, and is forgotten where another file follows.
func (o *output) to(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		_ = o.file.Close()
	}
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
