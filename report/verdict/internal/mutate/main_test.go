package main

import (
	"errors"
	"testing"
)

func TestJudge(t *testing.T) {
	for _, row := range []struct {
		name, out string
		noticed   bool
	}{
		{"a test that failed has noticed", "--- FAIL: TestX (0.00s)\n    x_test.go:1: no\nFAIL\n", true},
		{"a panic has noticed", "panic: runtime error: index out of range\n\ngoroutine 1\nFAIL\tzkbench/x\t0.1s\n", true},
		{"a test that ran too long has noticed", "panic: test timed out after 1m0s\nFAIL\tzkbench/x\t60s\n", true},
		{"a build that failed proves nothing", "# zkbench/x\n./x.go:1:1: no\nFAIL\tzkbench/x [build failed]\nFAIL\n", false},
		{"packages that cannot be had prove nothing", "FAIL\tzkbench/x [setup failed]\nFAIL\n", false},
		{"a toolchain that is missing proves nothing", "go: download go1.99 for linux/amd64: toolchain not available\n", false},
		{"a process that was killed proves nothing", "signal: killed\nFAIL\tzkbench/x\t3s\nFAIL\n", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			noticed, err := judge([]byte(row.out), errors.New("exit status 1"))
			if noticed != row.noticed || (err == nil) != row.noticed {
				t.Errorf("noticed %v, error %v", noticed, err)
			}
		})
	}
}
