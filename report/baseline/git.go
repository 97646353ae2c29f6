package baseline

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Branch is a store on a branch of the git repository at dir. The branch has a history of its
// own and is never checked out: neither the files that are worked on, nor what is staged, is
// touched. Nothing is fetched and nothing is pushed. Where there is no such branch yet, or origin's
// goes on from it, that of origin is read, and is what is written next begins with.
func Branch(dir, name string) Store { return branch{dir, name} }

type branch struct{ dir, name string }

func (b branch) String() string { return "git branch " + b.name }

func (b branch) List() ([]string, error) {
	tip, err := b.tip()
	if tip == "" || err != nil {
		return nil, err
	}
	out, err := b.git(nil, nil, "ls-tree", "-r", "-z", "--full-tree", "--name-only", tip)
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), err
}

func (b branch) Read(name string) ([]byte, error) {
	tip, err := b.tip()
	if err != nil {
		return nil, err
	}
	return b.git(nil, nil, "cat-file", "blob", tip+":"+name)
}

// Write commits the file on the branch.
func (b branch) Write(name string, data []byte) error {
	tip, own, err := b.tips()
	if err == nil {
		err = b.refuseCheckedOut()
	}
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "zkbench-index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	blob, err := b.line(data, nil, "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	if tip != "" {
		if _, err := b.git(nil, index, "read-tree", tip); err != nil {
			return err
		}
	}
	if _, err := b.git(nil, index, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+name); err != nil {
		return err
	}
	tree, err := b.line(nil, index, "write-tree")
	if err != nil {
		return err
	}
	commit := []string{"commit-tree", tree, "-m", "baseline " + name}
	if tip != "" {
		commit = append(commit, "-p", tip)
	}
	made, err := b.line(nil, b.author(), commit...)
	if err != nil {
		return err
	}
	if own == "" {
		own = strings.Repeat("0", len(made)) // it must not be there
	}
	// Whoever else has written meanwhile is not written over.
	if _, err = b.git(nil, nil, "update-ref", "refs/heads/"+b.name, made, own); err != nil {
		return fmt.Errorf("%w (was it written by somebody else meanwhile? save again)", err)
	}
	return nil
}

// refuseCheckedOut refuses a branch that somebody works on, here or in another work tree: a
// commit behind his back would show there as files that he has deleted.
func (b branch) refuseCheckedOut() error {
	trees, err := b.line(nil, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	var dir string
	for _, line := range strings.Split(trees, "\n") {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = path
		}
		if line == "branch refs/heads/"+b.name {
			return fmt.Errorf("%s is checked out in %s: name a branch of its own, like zkbench-baselines", b, dir)
		}
	}
	return nil
}

// tip is the last commit of the branch; empty where there is none.
func (b branch) tip() (string, error) {
	tip, _, err := b.tips()
	return tip, err
}

// tips are the last commit of the branch, and that of the branch as it is here, which may be
// behind origin's; empty where there is none.
func (b branch) tips() (tip, own string, err error) {
	if _, err := b.git(nil, nil, "rev-parse", "--git-dir"); err != nil {
		return "", "", fmt.Errorf("--branch needs a git repository: run inside one, or use --dir (%w)", err)
	}
	if _, err := b.git(nil, nil, "check-ref-format", "--branch", b.name); err != nil || strings.HasPrefix(b.name, "refs/") {
		return "", "", fmt.Errorf("%q is no name of a git branch", b.name)
	}
	own, err = b.commit("refs/heads/" + b.name)
	if err != nil {
		return "", "", err
	}
	origin, err := b.commit("refs/remotes/origin/" + b.name)
	if origin == "" || err != nil {
		return own, own, err
	}
	if own == "" {
		return origin, own, nil
	}
	if _, err := b.git(nil, nil, "merge-base", "--is-ancestor", own, origin); err != nil {
		return own, own, nil // it has commits that origin has not
	}
	return origin, own, nil
}

// commit is the one that a reference names; empty where there is none.
func (b branch) commit(ref string) (string, error) {
	return b.line(nil, nil, "for-each-ref", "--format=%(objectname)", ref)
}

// author names the committer where git knows nobody, as on a machine of a CI system.
func (b branch) author() []string {
	if who, err := b.line(nil, nil, "config", "user.email"); err == nil && who != "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=zkbench", "GIT_AUTHOR_EMAIL=zkbench@localhost", "GIT_COMMITTER_NAME=zkbench", "GIT_COMMITTER_EMAIL=zkbench@localhost"}
}

// line is git's output without the newline at its end.
func (b branch) line(stdin []byte, env []string, args ...string) (string, error) {
	out, err := b.git(stdin, env, args...)
	return strings.TrimSpace(string(out)), err
}

// git runs git in the repository.
func (b branch) git(stdin []byte, env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Env = b.dir, bytes.NewReader(stdin), append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: git %s: %w: %s", b, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
