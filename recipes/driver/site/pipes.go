package site

import "os"

type pipes struct{ stdin, stdout, stderr *os.File }

func openPipes() (ours pipes, theirs [3]*os.File, err error) {
	for i, our := range []**os.File{&ours.stdin, &ours.stdout, &ours.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			ours.close()
			closeAll(theirs[:])
			return ours, theirs, err
		}
		*our, theirs[i] = r, w
		if i == 0 {
			*our, theirs[i] = w, r
		}
	}
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func (p pipes) close() { closeAll([]*os.File{p.stdin, p.stdout, p.stderr}) }

func (p pipes) Stdin() Stdin   { return p.stdin }
func (p pipes) Stdout() Output { return p.stdout }
func (p pipes) Stderr() Output { return p.stderr }

// Lost returns false: a process with pipes runs on this machine.
func (p pipes) Lost() bool { return false }
