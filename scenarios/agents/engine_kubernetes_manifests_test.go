package agents

import (
	"errors"
	"slices"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// manifests are what is rendered, in the API's own types.
type manifests struct {
	job     batch.Job
	secret  core.Secret
	service *core.Service
	slice   *discovery.EndpointSlice
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
		switch kind.Kind {
		case "Secret":
			to = &m.secret
		case "Service":
			m.service = &core.Service{}
			to = m.service
		case "EndpointSlice":
			m.slice = &discovery.EndpointSlice{}
			to = m.slice
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
	e, err := ParseEngine("kubernetes:"+spec, Place{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.(*Kubernetes).Manifests(j)
	if err != nil {
		t.Fatal(err)
	}
	m, err := decode(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return m
}

// someJoin is a join file of a coordinator at an address.
func someJoin(t *testing.T, address string) *Join {
	t.Helper()
	c, err := newCredentials()
	if err != nil {
		t.Fatal(err)
	}
	c.join.Address, c.join.Version = address, "v1"
	return &c.join
}

func TestManifests_areAnIndexedJobWhosePodsComeBack(t *testing.T) {
	job := rendered(t, "20", nil).job
	if job.APIVersion != "batch/v1" || job.Kind != "Job" {
		t.Errorf("it is a %s of %s", job.Kind, job.APIVersion)
	}
	s := job.Spec
	if *s.Completions != 20 || *s.Parallelism != 20 || *s.CompletionMode != batch.IndexedCompletion {
		t.Errorf("completions %d, parallelism %d, mode %s", *s.Completions, *s.Parallelism, *s.CompletionMode)
	}
	if *s.BackoffLimitPerIndex < 1 || s.BackoffLimit != nil || s.MaxFailedIndexes != nil {
		t.Errorf("a pod that is deleted would not come back, or take others with it: %+v", s)
	}
	if *s.TTLSecondsAfterFinished < 1 || s.Template.Spec.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("ttl %d, restart policy %s", *s.TTLSecondsAfterFinished, s.Template.Spec.RestartPolicy)
	}
	spread := s.Template.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != core.LabelHostname || spread[0].MaxSkew != 1 ||
		spread[0].LabelSelector.MatchLabels[runLabel] != s.Template.Labels[runLabel] || s.Template.Labels[runLabel] == "" {
		t.Errorf("spread: %+v of pods with %v", spread, s.Template.Labels)
	}
}

func TestManifests_giveAPodNoRights(t *testing.T) {
	pod := rendered(t, "3", nil).job.Spec.Template.Spec
	if pod.HostNetwork || *pod.AutomountServiceAccountToken {
		t.Error("the pod has the network of its host, or a token for the API")
	}
	if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("security of the pod: %+v", s)
	}
	c := pod.Containers[0]
	if s := c.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("security of the container: %+v", s)
	}
	for _, need := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
		if c.Resources.Requests[need] == (core.ResourceList{})[need] {
			t.Errorf("it asks for no %s", need)
		}
	}
	if c.Resources.Limits.Memory().IsZero() || !c.Resources.Limits.Cpu().IsZero() {
		t.Errorf("limits: %v, want memory alone", c.Resources.Limits)
	}
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

func TestManifests_putAServiceInFrontOfTheCoordinator(t *testing.T) {
	m := rendered(t, "3,service=yes", someJoin(t, "[2001:db8::7]:4711"))
	if m.service.Spec.ClusterIP != core.ClusterIPNone || m.service.Spec.Selector != nil || m.service.Spec.Ports[0].Port != 4711 {
		t.Errorf("service: %+v", m.service.Spec)
	}
	if m.slice.Labels[discovery.LabelServiceName] != m.service.Name || m.slice.AddressType != discovery.AddressTypeIPv6 ||
		m.slice.Endpoints[0].Addresses[0] != "2001:db8::7" || *m.slice.Ports[0].Port != 4711 || *m.slice.Ports[0].Name != m.service.Spec.Ports[0].Name {
		t.Errorf("what is behind the service: %+v", m.slice)
	}
	if j, err := ParseJoin([]byte(m.secret.StringData["join.pem"])); err != nil || j.Address != m.service.Name+":4711" {
		t.Errorf("agents call %s, %v", j.Address, err)
	}
	k := &Kubernetes{id: "x", options: map[string]string{"service": "yes"}}
	if _, err := k.Manifests(someJoin(t, "coordinator.example:1")); err == nil || !strings.Contains(err.Error(), "host=ADDRESS") {
		t.Errorf("a Service in front of a name: %v", err)
	}
}

func TestManifests_obeyOptions(t *testing.T) {
	m := rendered(t, "3,image=registry.example/x@sha256:0,pull=Never,network=host,cpu=2,memory=1.5Gi", nil)
	pod := m.job.Spec.Template.Spec
	c := pod.Containers[0]
	if c.Image != "registry.example/x@sha256:0" || c.ImagePullPolicy != core.PullNever || !pod.HostNetwork || pod.DNSPolicy != core.DNSClusterFirstWithHostNet {
		t.Errorf("pod: %+v", pod)
	}
	if c.Resources.Requests.Cpu().String() != "2" || c.Resources.Limits.Memory().String() != "1536Mi" {
		t.Errorf("resources: %+v", c.Resources)
	}
}

// A manifest with a field that the API does not have is found out by these tests.
func TestDecode_findsWrongFields(t *testing.T) {
	e, err := ParseEngine("kubernetes:3", Place{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.(*Kubernetes).Manifests(nil)
	if err != nil {
		t.Fatal(err)
	}
	for field, wrong := range map[string]string{
		"completionMode": "completionModes", "runAsNonRoot": "runAsNonroot", "secretName": "name", "nodeTaintsPolicy": "nodeTaintPolicy", "stringData": "stringdata",
	} {
		text := strings.Replace(string(text), field+":", wrong+":", 1)
		if _, err := decode([]byte(text)); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s instead of %s: %v", wrong, field, err)
		}
	}
}
