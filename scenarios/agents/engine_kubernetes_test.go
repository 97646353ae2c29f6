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

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func TestParseEngine_saysWhatThereIs(t *testing.T) {
	for text, want := range map[string]string{
		"local:3": "", "wait:1": "", "local:0": "is not a number of agents", "local:x": "is not a number of agents", "docker:3": "want ", "": "want ",
		"kubernetes:0":                           `"0" is not a number of agents`,
		"kubernetes:3,replicas=4":                `unknown option "replicas"; the options are image, pull, namespace`,
		"kubernetes:3,pull=Sometimes":            "pull=Sometimes: invalid value, want: imagePullPolicy: IfNotPresent, Always or Never",
		"kubernetes:3,namespace=Not A Namespace": "namespace=Not A Namespace",
		"kubernetes:3,memory=much":               "memory=much",
		"kubernetes:3,image=":                    "image=: invalid value, want: image",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := ParseEngine(text, EngineConfig{})
			refused(t, err, want)
		})
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
	must(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o755))
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
	e, err := ParseEngine("kubernetes:"+spec, EngineConfig{Owner: "test", Logf: t.Logf})
	must(t, err)
	return e.(*Kubernetes)
}

const (
	// A watch goes on until it is killed.
	watchesOnly = `case "$*" in *--watch*) exec sleep 60;; esac`
	noApply     = `case "$*" in *apply*) cat >/dev/null; echo "error: no rights" >&2; exit 1;; *--watch*) exec sleep 60;; esac`
	noDelete    = "case \"$*\" in *delete*) echo 'error: gone away' >&2; exit 1;; esac\n" + watchesOnly
)

// deleted fails the test unless a call of kubectl deletes all that was made, after a first one that applied it.
func deleted(t *testing.T, k *Kubernetes, calls []string, first string) {
	t.Helper()
	if calls[0] != first || !slices.ContainsFunc(calls, func(call string) bool {
		return strings.Contains(call, "delete") && strings.Contains(call, "job/"+k.id) && strings.Contains(call, "secret/"+k.id) && strings.Contains(call, "--wait")
	}) {
		t.Errorf("kubectl was called so:\n%s", strings.Join(calls, "\n"))
	}
}

// What was made is removed, also if it is half made. Whoever interrupts does not cut apply short: the Job would
// appear after it was removed.
func TestKubernetes_takesTheJobAway(t *testing.T) {
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupted"))
	for _, row := range []struct {
		about, kubectl, spec string
		ctx                  context.Context
		first                string // call of kubectl
		start, stop          string // errors
	}{
		{"a job", watchesOnly, "3,namespace=here,context=there", t.Context(), "--context=there --namespace=here apply --filename=-", "", ""},
		{"a job that is half made", noApply, "3", t.Context(), "apply --filename=-", "kubectl apply: exit status 1: error: no rights", ""},
		{"an interruption", watchesOnly, "3", interrupted, "apply --filename=-", "interrupted", ""},
		{"a job that cannot be deleted", noDelete, "3,namespace=here", t.Context(), "--namespace=here apply --filename=-", "",
			"gone away; to delete anything left over, run: kubectl --namespace=here delete job/ID secret/ID"},
	} {
		t.Run(row.about, func(t *testing.T) {
			calls := kubectlThat(t, row.kubectl)
			k := job(t, row.spec)
			stop, err := k.Start(row.ctx, *someJoin(t, "192.0.2.1:7000"), func(err error) { t.Errorf("nobody has ended: %v", err) })
			refused(t, err, row.start)
			refused(t, stop(), strings.ReplaceAll(row.stop, "ID", k.id))
			deleted(t, k, calls(), row.first)
		})
	}
}

func TestMuster_endsWhereAgentsDoNotStart(t *testing.T) {
	calls := kubectlThat(t, noApply)
	k := job(t, "3,host=192.0.2.1")
	k.Listen = "127.0.0.1:0"
	_, _, err := StartAgents(t.Context(), k, "v1", t.Logf)
	refused(t, err, "no rights")
	deleted(t, k, calls(), "apply --filename=-")
}

func TestKubernetes_namesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := job(t, "3").Start(t.Context(), *someJoin(t, "192.0.2.1:7000"), nil)
	refused(t, err, "kubectl is not in PATH: install it")
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
	for kubectl, want := range map[string]string{
		"echo https://127.0.0.1:6443":        "the cluster's API is on this machine (127.0.0.1:6443); set it with host=ADDRESS",
		"echo error: no context >&2; exit 1": "no context",
	} {
		kubectlThat(t, kubectl)
		_, _, err := job(t, "3").Reach(t.Context())
		refused(t, err, want)
	}
}

func TestStart_refusesWhatPodsDoNotReach(t *testing.T) {
	for _, address := range []string{"127.0.0.1:7000", "[::]:7000"} {
		_, err := job(t, "3").Start(t.Context(), *someJoin(t, address), nil)
		refused(t, err, "host=ADDRESS")
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
	must(t, err)
	defer func() {
		must(t, stop())
	}()
	soon, late := context.WithTimeout(t.Context(), 20*time.Second)
	defer late()
	for _, want := range []string{"agents 1 have failed more than 6 times", "it has failed: FailedIndexes: Job has failed indexes"} {
		select {
		case err := <-ended:
			refused(t, err, want)
		case <-soon.Done():
			t.Fatalf("nobody was told: %s", want)
		}
	}
	for _, want := range []string{"is applied", "pod a-0 waits: ErrImagePull: no such image", "pod a-1 is being deleted: another pod will take its index"} {
		select {
		case line := <-lines:
			if !strings.Contains(line, want) {
				t.Errorf("said %s, want %s", line, want)
			}
		case <-soon.Done():
			t.Fatalf("nobody said: %s", want)
		}
	}
	select {
	case <-k.Done():
	case <-soon.Done():
		t.Error("the Job has ended, and nobody knows")
	}
}

func TestProblem_isWhatKeepsAnAgentFromRunning(t *testing.T) {
	state := func(waiting, terminated *reason) (p podObject) {
		p.Status.ContainerStatuses = make([]struct {
			State struct{ Waiting, Terminated *reason }
		}, 1)
		p.Status.ContainerStatuses[0].State = struct{ Waiting, Terminated *reason }{waiting, terminated}
		return p
	}
	var nowhere podObject
	nowhere.Status.Conditions = []condition{{Type: "PodScheduled", Status: "False", Message: "0/3 nodes are available"}}
	for _, row := range []struct {
		about string
		pod   podObject
		want  string
	}{
		{"an agent that has failed", state(nil, &reason{Reason: "Error", ExitCode: 3, Message: "joined\nzkbench: the link is lost\n"}),
			"has ended (Error, exit code 3): zkbench: the link is lost"},
		{"an agent whose run is over", state(nil, &reason{Reason: "Error", Message: "joined\n"}), ""},
		{"an agent that starts", state(&reason{Reason: "ContainerCreating"}, nil), ""},
		{"a pod without a node", nowhere, "has no node: 0/3 nodes are available"},
	} {
		if got := row.pod.problem(); got != row.want {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
}

// manifests are what is rendered, in the API's own types.
type manifests struct {
	job    batch.Job
	secret core.Secret
	text   string
}

// have fails the test for every property that the manifests do not have.
func (m manifests) have(t *testing.T, properties map[string]bool) {
	t.Helper()
	for name, has := range properties {
		if !has {
			t.Errorf("not so: %s, in\n%s", name, m.text)
		}
	}
}

// decode reads manifests as strictly as the API's server does: a field that it does not know
// is an error.
func decode(text []byte) (m manifests, err error) {
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(part), &kind); err != nil {
			return m, err
		}
		var to any = &m.job
		if kind.Kind == "Secret" {
			to = &m.secret
		}
		plain, err := yaml.YAMLToJSONStrict([]byte(part))
		if err != nil {
			return m, err
		}
		wrong, err := strict.UnmarshalStrict(plain, to)
		if err := errors.Join(append(wrong, err)...); err != nil {
			return m, err
		}
	}
	return m, nil
}

// rendered are the manifests that an engine applies.
func rendered(t *testing.T, spec string, j *Join) manifests {
	t.Helper()
	text, err := job(t, spec).Manifests(j)
	must(t, err)
	m, err := decode(text)
	if m.text = string(text); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return m
}

// someJoin is a join file of a coordinator at an address.
func someJoin(t *testing.T, address string) *Join {
	t.Helper()
	c, err := newCredentials()
	must(t, err)
	c.join.Address, c.join.Version = address, "v1"
	return &c.join
}

func TestManifests_areAnIndexedJobWhosePodsComeBack(t *testing.T) {
	m := rendered(t, "20", nil)
	s := m.job.Spec
	labels, spread := s.Template.Labels, s.Template.Spec.TopologySpreadConstraints
	m.have(t, map[string]bool{
		"a Job":           m.job.APIVersion == "batch/v1" && m.job.Kind == "Job",
		"20 indexed pods": *s.Completions == 20 && *s.Parallelism == 20 && *s.CompletionMode == batch.IndexedCompletion,
		"a pod that is deleted comes back, and takes no others with it": *s.BackoffLimitPerIndex >= 1 && s.BackoffLimit == nil && s.MaxFailedIndexes == nil,
		"the Job is deleted after its end":                              *s.TTLSecondsAfterFinished >= 1,
		"containers are not restarted":                                  s.Template.Spec.RestartPolicy == core.RestartPolicyNever,
		"the pods are spread over the nodes": len(spread) == 1 && spread[0].TopologyKey == core.LabelHostname && spread[0].MaxSkew == 1 &&
			spread[0].LabelSelector.MatchLabels[runLabel] == labels[runLabel] && labels[runLabel] != "",
	})
}

func TestManifests_giveAPodNoRights(t *testing.T) {
	m := rendered(t, "3", nil)
	pod := m.job.Spec.Template.Spec
	p, c, resources := pod.SecurityContext, pod.Containers[0].SecurityContext, pod.Containers[0].Resources
	m.have(t, map[string]bool{
		"not the network of the host":   !pod.HostNetwork,
		"no token for the API":          !*pod.AutomountServiceAccountToken,
		"an ordinary user":              *p.RunAsNonRoot && *p.RunAsUser != 0,
		"the runtime's seccomp profile": p.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault,
		"no privileges":                 !*c.AllowPrivilegeEscalation && slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}),
		"a read-only file system":       *c.ReadOnlyRootFilesystem,
		"requests of CPU and memory":    !resources.Requests.Cpu().IsZero() && !resources.Requests.Memory().IsZero(),
		"a limit of memory alone":       !resources.Limits.Memory().IsZero() && resources.Limits.Cpu().IsZero(),
	})
}

func TestManifests_handOverTheJoinFile(t *testing.T) {
	j := someJoin(t, "192.0.2.7:4711")
	m := rendered(t, "3", j)
	got, err := ParseJoin([]byte(m.secret.StringData["join.pem"]))
	if err != nil || got.Address != j.Address {
		t.Errorf("the Secret has a join file of %q, %v", got.Address, err)
	}
	pod := m.job.Spec.Template.Spec
	mounted := map[string]string{}
	for _, v := range pod.Containers[0].VolumeMounts {
		mounted[v.Name] = v.MountPath
	}
	for _, v := range pod.Volumes {
		switch {
		case v.Secret != nil && (v.Secret.SecretName != m.secret.Name || *v.Secret.DefaultMode != 0o440 || mounted[v.Name] != "/join"):
			t.Errorf("the join file is mounted as %+v at %s", v.Secret, mounted[v.Name])
		case v.EmptyDir != nil && (v.EmptyDir.Medium != core.StorageMediumMemory || mounted[v.Name] != "/tmp"):
			t.Errorf("what can be written to: %+v at %s", v.EmptyDir, mounted[v.Name])
		}
	}
	args := strings.Join(pod.Containers[0].Args, " ")
	if args != "agent --join /join/join.pem --index $(JOB_COMPLETION_INDEX) --name $(NODE)-$(JOB_COMPLETION_INDEX)" || pod.Containers[0].Command != nil {
		t.Errorf("the agent is called with %s", args)
	}
}

func TestManifests_obeyOptions(t *testing.T) {
	m := rendered(t, "3,image=registry.example/x@sha256:0,pull=Never,network=host,cpu=2,memory=1.5Gi", nil)
	pod := m.job.Spec.Template.Spec
	c := pod.Containers[0]
	m.have(t, map[string]bool{
		"the image":               c.Image == "registry.example/x@sha256:0" && c.ImagePullPolicy == core.PullNever,
		"the network of the host": pod.HostNetwork && pod.DNSPolicy == core.DNSClusterFirstWithHostNet,
		"resources":               c.Resources.Requests.Cpu().String() == "2" && c.Resources.Limits.Memory().String() == "1536Mi",
	})
}

// A manifest with a field that the API does not have is found out by these tests.
func TestDecode_findsWrongFields(t *testing.T) {
	text, err := job(t, "3").Manifests(nil)
	must(t, err)
	for field, wrong := range map[string]string{
		"completionMode": "completionModes", "runAsNonRoot": "runAsNonroot", "secretName": "name", "nodeTaintsPolicy": "nodeTaintPolicy", "stringData": "stringdata",
	} {
		text := strings.Replace(string(text), field+":", wrong+":", 1)
		_, err := decode([]byte(text))
		refused(t, err, wrong)
	}
}
