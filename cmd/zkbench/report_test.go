package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTrace(t *testing.T) {
	dir := savedRun(t)
	code, said := call(t, "trace", dir, "herd-lock-predecessor-3")
	if code != exitOK || !json.Valid([]byte(said)) || !strings.Contains(said, `"traceEvents"`) {
		t.Errorf("exit code %d, and no trace: %.300s", code, said)
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{dir}, "wants a run folder and a trial, not 1 argument"},
		{[]string{dir, "herd-lock-predecesor-3"}, `did you mean "herd-lock-predecessor-3"?`},
		{[]string{"nowhere", "x"}, "nowhere does not exist"},
	} {
		if code, said := call(t, append([]string{"trace"}, row.args...)...); code != exitUsage || !strings.Contains(said, row.want) {
			t.Errorf("trace %v: exit code %d, %s; want %s", row.args, code, said, row.want)
		}
	}
	if _, said := call(t, "__complete", "trace", dir, "herd"); !strings.Contains(said, "herd-lock-predecessor-3\n") {
		t.Errorf("a shell is offered %s", said)
	}
}
