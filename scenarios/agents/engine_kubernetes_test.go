package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseKubernetes_refuses(t *testing.T) {
	for spec, want := range map[string]string{
		"0":                           `"0" is no number of agents`,
		"3,replicas=4":                `there is no option "replicas": the options are image, pull, namespace`,
		"3,pull=Sometimes":            "pull=Sometimes: it is the imagePullPolicy: IfNotPresent, Always or Never",
		"3,namespace=Not A Namespace": "namespace=Not A Namespace",
		"3,memory=much":               "memory=much",
		"3,image=":                    "image=: it is the image",
	} {
		if _, err := ParseEngine("kubernetes:"+spec, Place{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}

func TestImageOf_isThePublishedOneForAReleaseOnly(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "ghcr.io/zkbench/zkbench:1.2.3", "(devel)": localImage, "v1.2.4-0.20260101000000-abcdefabcdef+dirty": localImage,
	} {
		if got := imageOf(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// kubectlThat puts a program in place of kubectl, which notes how it is called.
func kubectlThat(t *testing.T, does string) (calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	called := filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$*\" >>" + called + "\n" + does
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		text, err := os.ReadFile(called)
		if err != nil {
			t.Error(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// job is an engine that speaks to whatever is in PATH as kubectl.
func job(t *testing.T, spec string) *Kubernetes {
	t.Helper()
	e, err := ParseEngine("kubernetes:"+spec, Place{Owner: "test", Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return e.(*Kubernetes)
}

// deletes reports whether a call of kubectl deletes all that was made.
func deletes(k *Kubernetes) func(string) bool {
	return func(call string) bool {
		return strings.Contains(call, "delete") && strings.Contains(call, "job/"+k.id) && strings.Contains(call, "secret/"+k.id) && strings.Contains(call, "--wait")
	}
}

const (
	// A watch goes on until it is killed.
	watchesOnly = `case "$*" in *--watch*) exec sleep 60;; esac`
	noApply     = `case "$*" in *apply*) cat >/dev/null; echo "error: no rights" >&2; exit 1;; *--watch*) exec sleep 60;; esac`
)

func TestKubernetes_takesTheJobAway(t *testing.T) {
	calls := kubectlThat(t, watchesOnly)
	k := job(t, "3,namespace=here,context=there")
	stop, err := k.Start(t.Context(), *someJoin(t, "192.0.2.1:7000"), func(err error) { t.Errorf("nobody has ended: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	all := calls()
	if all[0] != "--context=there --namespace=here apply --filename=-" || !slices.ContainsFunc(all, deletes(k)) {
		t.Errorf("kubectl was called so:\n%s", strings.Join(all, "\n"))
	}
}

func TestKubernetes_takesAwayWhatIsHalfMade(t *testing.T) {
	calls := kubectlThat(t, noApply)
	k := job(t, "3")
	stop, err := k.Start(t.Context(), *someJoin(t, "192.0.2.1:7000"), nil)
	if err == nil || !strings.Contains(err.Error(), "kubectl apply: exit status 1: error: no rights") {
		t.Errorf("apply failed: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(calls(), deletes(k)) {
		t.Errorf("kubectl was called so:\n%s", strings.Join(calls(), "\n"))
	}
}

func TestMuster_endsWhereAgentsDoNotStart(t *testing.T) {
	calls := kubectlThat(t, noApply)
	k := job(t, "3,host=192.0.2.1")
	k.Listen = "127.0.0.1:0"
	if _, err := StartAgents(t.Context(), k, "v1", t.Logf); err == nil || !strings.Contains(err.Error(), "no rights") {
		t.Errorf("apply failed: %v", err)
	}
	if !slices.ContainsFunc(calls(), deletes(k)) {
		t.Errorf("kubectl was called so:\n%s", strings.Join(calls(), "\n"))
	}
}

// Whoever interrupts does not cut apply short: the Job would appear after it was removed.
func TestKubernetes_takesAwayWhatWasInterrupted(t *testing.T) {
	calls := kubectlThat(t, watchesOnly)
	k := job(t, "3")
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	stop, err := k.Start(ctx, *someJoin(t, "192.0.2.1:7000"), nil)
	if !errors.Is(err, interrupted) {
		t.Errorf("Start: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if all := calls(); !strings.HasPrefix(all[0], "apply") || !slices.ContainsFunc(all, deletes(k)) {
		t.Errorf("kubectl was called so:\n%s", strings.Join(all, "\n"))
	}
}

func TestKubernetes_saysWhatIsLeft(t *testing.T) {
	kubectlThat(t, "case \"$*\" in *delete*) echo 'error: gone away' >&2; exit 1;; esac\n"+watchesOnly)
	k := job(t, "3,namespace=here,service=yes")
	stop, err := k.Start(t.Context(), *someJoin(t, "192.0.2.1:7000"), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	want := "gone away; delete possible leftovers: kubectl --namespace=here delete job/" + k.id + " secret/" + k.id + " service/" + k.id + " endpointslice/" + k.id
	if err := stop(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestKubernetes_namesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := job(t, "3").Start(t.Context(), *someJoin(t, "192.0.2.1:7000"), nil)
	if err == nil || !strings.Contains(err.Error(), "kubectl is not in PATH: install it") {
		t.Errorf("without kubectl: %v", err)
	}
}

func TestReach_isTheNamedHostElseTheWayToTheCluster(t *testing.T) {
	k := job(t, "3,host=coordinator.example")
	if listen, host, err := k.Reach(t.Context()); listen != ":0" || host != "coordinator.example" || err != nil {
		t.Errorf("named: %s, %s, %v", listen, host, err)
	}
	k = job(t, "3")
	k.Listen = "192.0.2.1:7000"
	if listen, host, err := k.Reach(t.Context()); listen != k.Listen || host != "192.0.2.1" || err != nil {
		t.Errorf("where it listens: %s, %s, %v", listen, host, err)
	}
	kubectlThat(t, "echo https://127.0.0.1:6443")
	if _, _, err := job(t, "3").Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "the cluster's API is on this machine (127.0.0.1:6443); name one: host=ADDRESS") {
		t.Errorf("a cluster behind a port of this machine: %v", err)
	}
	kubectlThat(t, "echo error: no context >&2; exit 1")
	if _, _, err := job(t, "3").Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "no context") {
		t.Errorf("without a cluster: %v", err)
	}
}

func TestStart_refusesWhatPodsDoNotReach(t *testing.T) {
	for _, address := range []string{"127.0.0.1:7000", "[::]:7000"} {
		if _, err := job(t, "3").Start(t.Context(), *someJoin(t, address), nil); err == nil || !strings.Contains(err.Error(), "host=ADDRESS") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A pod that is deleted comes back. That is told to people, and is no end of an agent.
func TestFollow_tellsOfWhatDoesNotComeBack(t *testing.T) {
	kubectlThat(t, `case "$*" in
*"get pod "*) cat <<JSON
{"type": "ADDED", "object": {"metadata": {"name": "a-0"}, "status": {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]}}}
{"type": "MODIFIED", "object": {"metadata": {"name": "a-1", "deletionTimestamp": "2026-01-01T00:00:00Z"}}}
JSON
  exec sleep 60;;
*"get job "*) cat <<JSON
{"type": "ADDED", "object": {"status": {"failed": 2}}}
{"type": "MODIFIED", "object": {"status": {"failedIndexes": "1"}}}
{"type": "MODIFIED", "object": {"status": {"failedIndexes": "1", "conditions": [{"type": "Failed", "status": "True", "reason": "FailedIndexes", "message": "Job has failed indexes"}]}}}
JSON
  exec sleep 60;;
esac`)
	lines := make(chan string, 10)
	ended := make(chan error, 10)
	k := job(t, "3")
	k.Logf = func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) }
	stop, err := k.Start(t.Context(), *someJoin(t, "192.0.2.1:7000"), func(err error) { ended <- err })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	soon := time.After(20 * time.Second)
	for _, want := range []string{"agents 1 have failed more than 6 times", "it has failed: FailedIndexes: Job has failed indexes"} {
		select {
		case err := <-ended:
			if !strings.Contains(err.Error(), want) {
				t.Errorf("told %v, want %s", err, want)
			}
		case <-soon:
			t.Fatalf("nobody was told: %s", want)
		}
	}
	for _, want := range []string{"is applied", "pod a-0 waits: ErrImagePull: no such image", "pod a-1 is being deleted: another one takes its index"} {
		select {
		case line := <-lines:
			if !strings.Contains(line, want) {
				t.Errorf("said %s, want %s", line, want)
			}
		case <-soon:
			t.Fatalf("nobody said: %s", want)
		}
	}
	select {
	case <-k.Over():
	case <-soon:
		t.Error("the Job has ended, and nobody knows")
	}
}

func TestTrouble_isWhatKeepsAnAgentFromRunning(t *testing.T) {
	var ended podObject
	ended.Status.ContainerStatuses = make([]struct {
		State struct{ Waiting, Terminated *reason }
	}, 1)
	state := &ended.Status.ContainerStatuses[0].State
	state.Terminated = &reason{Reason: "Error", ExitCode: 3, Message: "joined\nzkbench: the link is lost\n"}
	if got, want := ended.trouble(), "has ended (Error, exit code 3): zkbench: the link is lost"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	state.Terminated.ExitCode = 0
	if got := ended.trouble(); got != "" {
		t.Errorf("an agent whose run is over: %q", got)
	}
	state.Terminated, state.Waiting = nil, &reason{Reason: "ContainerCreating"}
	if got := ended.trouble(); got != "" {
		t.Errorf("an agent that starts: %q", got)
	}
	var nowhere podObject
	nowhere.Status.Conditions = []condition{{Type: "PodScheduled", Status: "False", Message: "0/3 nodes are available"}}
	if got, want := nowhere.trouble(), "has no node: 0/3 nodes are available"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
