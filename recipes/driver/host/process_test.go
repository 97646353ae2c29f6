package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProbe_saysWhyAProgramDoesNotStart(t *testing.T) {
	for _, row := range []struct {
		name, script string
		exited       bool
		want         string
	}{
		{"it ends at once", "echo out of cheese >&2; exit 3", true, "(exit status 3); it printed on stderr:\n  out of cheese"},
		{"it says nothing", "exit 1", true, "(exit status 1)"},
		{"it prints something else", "echo hello", false, "each line is one JSON object: hello"},
		{"it answers another protocol", `read line; echo '{"id":1,"ok":{"protocol":7}}'; cat >/dev/null`, false, "the protocol's number, 1"},
		{"it is of another kind", `while read line; do
			id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
			case "$line" in
			*hello*) echo '{"id":'$id',"ok":{"protocol":1,"recipe":"barrier","ops":["enter","leave"],"max_clients":9}}' ;;
			*) echo '{"id":'$id',"ok":{"now":'$(date +%s%N)'}}' ;;
			esac
		done`, false, `the name lock/x requires recipe lock, but the hello has recipe "barrier"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := Probe(Command{Name: "lock/x", Args: []string{"sh", "-c", row.script}}, "none")
			if err == nil || errors.Is(err, ErrExited) != row.exited || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOutput_lastLineIsWhatWentWrong(t *testing.T) {
	for _, row := range []struct{ about, printed, want string }{
		{"nothing", "", ""},
		{"one line, not yet ended", "out of cheese", "out of cheese"},
		{"the last of several, and empty ones", "starting\nout of cheese\r\n\n", "out of cheese"},
		{"a traceback ends with the error", "Traceback:\n  File \"a.py\"\n    import kazoo\nModuleNotFoundError: No module named 'kazoo'\n", "ModuleNotFoundError: No module named 'kazoo'"},
		{"a stack trace begins with it", "Exception in thread \"main\" Oops\n\tat Lock.run(Lock.java:3)\n\tat Lock.main(Lock.java:7)\n", `Exception in thread "main" Oops`},
		{"nothing but a stack", "\tat Lock.run(Lock.java:3)\n\tat Lock.main(Lock.java:7)\n", "\tat Lock.main(Lock.java:7)"},
		{"more than is remembered", strings.Repeat("starting\n", tailLimit) + "out of cheese", "out of cheese"},
	} {
		t.Run(row.about, func(t *testing.T) {
			var o output
			for part := range strings.SplitAfterSeq(row.printed, "\n") {
				if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := o.lastLine(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if len(o.tail) > tailLimit {
				t.Errorf("%d bytes are remembered", len(o.tail))
			}
		})
	}
}

func TestOutput_ofAnotherTrialIsForgotten(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	var o output
	said := func(line, file string) {
		t.Helper()
		if o.lastLine() != line || o.where() != file {
			t.Errorf("got %q in %q, want %q in %q", o.lastLine(), o.where(), line, file)
		}
	}
	write := func(text string) {
		_, err := o.Write([]byte(text))
		must(t, err)
	}
	o.setPath(one)
	said("", "")
	write("a")
	said("a", one)
	o.setPath("")
	said("a", one) // it can still be told why it ended
	write("\nb")
	said("b", "")
	o.setPath(two)
	said("", "")
	write("c")
	said("c", two)
	o.setPath("")
	if text, err := os.ReadFile(two); string(text) != "c" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// A process that prints without end fills no disk, and its last words are kept.
func TestOutput_hasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	o := &output{}
	o.setPath(path)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 2 * fileLimit / len(line) {
		_, _ = o.Write(line)
	}
	_, _ = o.Write([]byte("the end\n"))
	o.setPath("")
	text, err := os.ReadFile(path)
	if err != nil || len(text) > fileLimit+2*tailLimit || !strings.HasSuffix(string(text), "the end\n") || !strings.Contains(string(text), "bytes were dropped here") {
		t.Errorf("%d bytes, %v, ending in %q", len(text), err, text[max(0, len(text)-20):])
	}
}

// No password is printed or stored, whoever says it.
func TestProcess_redactsPasswords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	p := &Process{output: &output{}}
	p.output.setPath(path)
	p.hide(`user:se"cret`)
	for _, text := range []string{`{"auth":"user:se\"cret"}`, `se"cret`, `user:se"cret`} {
		if got := p.redact(text); strings.Contains(got, "cret") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	_, _ = p.output.Write([]byte(`my password is se"cret`))
	p.output.setPath("")
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "cret") {
		t.Errorf("stored: %q, %v", text, err)
	}
	p.last.add("> ", p.redact(`{"op":"open","auth":[{"auth":"user:se\"cret"}]}`))
	if b := p.breach(`{"error":"se\"cret"}`, `it said se"cret`); strings.Contains(b.Error()+strings.Join(p.Exchange(), ""), "cret") {
		t.Errorf("a breach shows it: %v, %q", b, p.Exchange())
	}
}
