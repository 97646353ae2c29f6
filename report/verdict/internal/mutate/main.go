// Command mutate tests whether the tests of the verdicts would detect a mistake: it flips the
// comparisons and conditions of each file one by one, and runs the tests on each mutant. It prints
// those that survive, and then exits with 1. The source is not changed: mutants are given to the
// compiler as an overlay.
//
//	go run ./report/verdict/internal/mutate report/verdict/orphan.go ...
//
// Not every survivor needs a test: most turn < into <= between times in nanoseconds, where no
// promise covers equality, or compare with a bound that only limits memory. One that turns && into
// ||, or == into !=, does. survivors.md lists the last survivors, with reasons.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
)

// flips maps an operator to its replacement.
var flips = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "no Go files given; name the files of one package")
		os.Exit(2)
	}
	survivors, all := 0, 0
	for _, file := range os.Args[1:] {
		s, n, err := mutate(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate %s: %v\n", file, err)
			os.Exit(2)
		}
		survivors, all = survivors+s, all+n
	}
	fmt.Printf("%d of %d mutants survived\n", survivors, all)
	if survivors > 0 {
		os.Exit(1)
	}
}

// mutate tests every mutant of a file.
func mutate(file string) (survivors, all int, err error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	// If the tests fail without a mutant, or cannot be run, every mutant would seem detected.
	if failed, err := noticed(file, source); err != nil || failed {
		return 0, 0, errors.Join(errors.New("the tests fail without any mutant: nothing can be said"), err)
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		return 0, 0, err
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || err != nil {
			return err == nil
		}
		to, ok := flips[b.Op]
		if !ok {
			return true
		}
		at := set.Position(b.OpPos)
		mutant := bytes.Join([][]byte{source[:at.Offset], []byte(to.String()), source[at.Offset+len(b.Op.String()):]}, nil)
		var killed bool
		if killed, err = noticed(file, mutant); err == nil {
			all++
			if !killed {
				survivors++
				fmt.Printf("%s:%d:%d: %s became %s, and no test failed\n", file, at.Line, at.Column, b.Op, to)
			}
		}
		return err == nil
	})
	return survivors, all, err
}

// noticed runs the tests of the file's package with the mutant.
func noticed(file string, mutant []byte) (bool, error) {
	dir, err := os.MkdirTemp("", "zkbench-mutate-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	place, err := filepath.Abs(file)
	if err != nil {
		return false, err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {place: filepath.Join(dir, "mutant.go")}})
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(dir, "mutant.go"), mutant, 0o644); err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		return false, err
	}
	test := exec.Command("go", "test", "-short", "-failfast", "-vet=off", "-timeout", "60s", "-overlay", filepath.Join(dir, "overlay.json"), ".")
	test.Dir = filepath.Dir(file)
	out, err := test.CombinedOutput()
	if err == nil {
		return false, nil
	}
	return judge(out, err)
}

// judge interprets the output of a failed run of the tests. Only a failed test has detected the
// mutant; a failed build (every mutant compiles) or a killed process has not.
func judge(out []byte, err error) (noticed bool, _ error) {
	for _, sign := range []string{"--- FAIL: ", "\npanic: "} {
		if bytes.Contains(append([]byte{'\n'}, out...), []byte(sign)) {
			return true, nil
		}
	}
	return false, fmt.Errorf("the tests could not be run: %w: %s", err, out)
}
