package host

import (
	"os"
	"sync"
)

// output keeps what a process prints on stderr in a file, another in every trial. There is
// no file before there is something in it.
type output struct {
	mu   sync.Mutex
	path string // "" is nowhere
	file *os.File
}

// Write implements io.Writer. What cannot be kept is dropped: the process must not wait.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.path == "" {
		return len(b), nil
	}
	if o.file == nil {
		o.file, _ = os.OpenFile(o.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	if o.file != nil {
		_, _ = o.file.Write(b)
	}
	return len(b), nil
}

// to has what comes from now on kept in another file.
func (o *output) to(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		_ = o.file.Close()
	}
	o.path, o.file = path, nil
}

// where is the file; "" for nowhere, and while there is nothing in it.
func (o *output) where() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return ""
	}
	return o.path
}
