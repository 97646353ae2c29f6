package agents

import (
	"io"
	"testing"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// A program on an agent has its input, its output and its exit code here.
func TestProcess_runsOnTheAgent(t *testing.T) {
	f, end := several(t, 1)
	on, err := begun(t, f, nil).Site(0)
	must(t, err)
	for code := range 3 {
		p, err := on.Start(site.Program{Args: []string{"sh", "-c", `read line; echo "$line"; echo wrong >&2; exit $((line))`}, Mark: "ZKBENCH_TEST_MARK=x"})
		must(t, err)
		_, err = io.WriteString(p.Stdin(), string(rune('0'+code))+"\n")
		must(t, err)
		out, outErr := io.ReadAll(p.Stdout())
		said, saidErr := io.ReadAll(p.Stderr())
		<-p.Exited()
		if text, got := p.State(); got != code || string(out) != string(rune('0'+code))+"\n" || string(said) != "wrong\n" || outErr != nil || saidErr != nil {
			t.Errorf("exit code %d (%s), stdout %q (%v), stderr %q (%v)", got, text, out, outErr, said, saidErr)
		}
	}
	killed, err := on.Start(site.Program{Args: []string{"sleep", "600"}, Mark: "ZKBENCH_TEST_MARK=x"})
	must(t, err)
	killed.Kill()
	<-killed.Exited()
	if _, code := killed.State(); code != -1 || killed.Lost() {
		t.Errorf("exit code %d, lost %v", code, killed.Lost())
	}
	left, err := on.Start(site.Program{Args: []string{"sleep", "600"}, Mark: "ZKBENCH_TEST_MARK=x"})
	must(t, err)
	end("a")
	<-left.Exited()
	if !left.Lost() {
		t.Error("the process of a lost agent is not lost")
	}
}
