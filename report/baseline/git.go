package baseline

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Branch returns a store on a branch of the git repository at dir. The branch has a separate
// history and is never checked out, so that the work tree and the index do not change. Branch never
// fetches or pushes. If the branch does not exist locally, or is an ancestor of the one of origin,
// the branch of origin is read, and the next commit is based on it.
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
	tip, local, err := b.tips()
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
	blob, err := b.output(data, nil, "hash-object", "-w", "--stdin")
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
	tree, err := b.output(nil, index, "write-tree")
	if err != nil {
		return err
	}
	commit := []string{"commit-tree", tree, "-m", "baseline " + name}
	if tip != "" {
		commit = append(commit, "-p", tip)
	}
	commitID, err := b.output(nil, b.author(), commit...)
	if err != nil {
		return err
	}
	if local == "" {
		local = strings.Repeat("0", len(commitID)) // the branch must not exist
	}
	// update-ref fails if another process has changed the branch.
	if _, err = b.git(nil, nil, "update-ref", "refs/heads/"+b.name, commitID, local); err != nil {
		return fmt.Errorf("%w (if another process changed the branch, save again)", err)
	}
	return nil
}

// refuseCheckedOut returns an error if the branch is checked out in a work tree, where a new
// commit would show up as deleted files.
func (b branch) refuseCheckedOut() error {
	trees, err := b.output(nil, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	var dir string
	for _, line := range strings.Split(trees, "\n") {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = path
		}
		if line == "branch refs/heads/"+b.name {
			return fmt.Errorf("%s is checked out in %s: use a separate branch, like zkbench-baselines", b, dir)
		}
	}
	return nil
}

func (b branch) tip() (string, error) {
	tip, _, err := b.tips()
	return tip, err
}

// tips returns the last commit of the branch, and the last commit of the local branch, which may
// be behind origin's; empty if it does not exist.
func (b branch) tips() (tip, local string, err error) {
	if _, err := b.git(nil, nil, "rev-parse", "--git-dir"); err != nil {
		return "", "", fmt.Errorf("--branch needs a git repository: run inside one, or use --dir (%w)", err)
	}
	if _, err := b.git(nil, nil, "check-ref-format", "--branch", b.name); err != nil || strings.HasPrefix(b.name, "refs/") {
		return "", "", fmt.Errorf("%q is not a valid name of a git branch", b.name)
	}
	local, err = b.commit("refs/heads/" + b.name)
	if err != nil {
		return "", "", err
	}
	origin, err := b.commit("refs/remotes/origin/" + b.name)
	if origin == "" || err != nil {
		return local, local, err
	}
	if local == "" {
		return origin, local, nil
	}
	if _, err := b.git(nil, nil, "merge-base", "--is-ancestor", local, origin); err != nil {
		return local, local, nil // the local branch has commits that origin lacks
	}
	return origin, local, nil
}

// commit returns the commit of a reference; empty if it does not exist.
func (b branch) commit(ref string) (string, error) {
	return b.output(nil, nil, "for-each-ref", "--format=%(objectname)", ref)
}

// author returns a committer if git has none configured, as on a CI machine.
func (b branch) author() []string {
	if email, err := b.output(nil, nil, "config", "user.email"); err == nil && email != "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=zkbench", "GIT_AUTHOR_EMAIL=zkbench@localhost", "GIT_COMMITTER_NAME=zkbench", "GIT_COMMITTER_EMAIL=zkbench@localhost"}
}

func (b branch) output(stdin []byte, env []string, args ...string) (string, error) {
	out, err := b.git(stdin, env, args...)
	return strings.TrimSpace(string(out)), err
}

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
