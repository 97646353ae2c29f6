package agents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	text "text/template"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/report/units"
)

// Kubernetes runs agents as pods of an Indexed Job: the completion index is the agent's index. It uses
// kubectl, with its permissions and context.
//
// A pod that fails or is deleted is replaced by a pod with the same index. During a run that pod is a
// new agent; the clients of the old agent count as killed.
type Kubernetes struct {
	EngineConfig
	n       int
	id      string // part of the names of all objects
	options map[string]string
	done    chan struct{}
}

func parseKubernetes(rest string, p EngineConfig) (Engine, error) {
	number, given, _ := strings.Cut(rest, ",")
	n, err := count(number)
	if err != nil {
		return nil, err
	}
	options, err := parseOptions(given, KubernetesOptions())
	if err != nil {
		return nil, err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	return &Kubernetes{EngineConfig: p, n: n, id: "zkbench-agents-" + hex.EncodeToString(id), options: options, done: make(chan struct{})}, nil
}

func (k *Kubernetes) Agents() int { return k.n }

// Done returns a channel that is closed when the Job has ended.
func (k *Kubernetes) Done() <-chan struct{} { return k.done }

func (k *Kubernetes) Reach(ctx context.Context) (listen, host string, err error) {
	listen, host = cmp.Or(k.Listen, ":0"), k.options["host"]
	if own, _, _ := net.SplitHostPort(listen); host == "" && !net.ParseIP(own).IsUnspecified() {
		host = own // may be ""
	}
	if host != "" {
		return listen, host, nil
	}
	if host, err = k.routeAddress(ctx); err != nil {
		return "", "", fmt.Errorf("cannot determine the address at which pods reach the coordinator: %w; set it with host=ADDRESS", err)
	}
	k.Logf("pods will reach the coordinator at %s (to change the address: host=ADDRESS)", host)
	return listen, host, nil
}

// routeAddress returns this machine's or pod's address on the route to the API, which nodes can probably reach too.
func (k *Kubernetes) routeAddress(ctx context.Context) (string, error) {
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	if server == ":" { // not in a pod
		text, err := k.output(ctx, "config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}")
		if err != nil {
			return "", err
		}
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil {
			return "", fmt.Errorf("invalid server URL in kubectl's configuration: %w", err)
		}
		server = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", server) // sends no packet
	if err != nil {
		return "", err
	}
	defer conn.Close()
	local := conn.LocalAddr().(*net.UDPAddr).IP
	if local.IsLoopback() {
		return "", fmt.Errorf("the cluster's API is on this machine (%s)", server)
	}
	return local.String(), nil
}

const (
	applyLimit = 60 * time.Second
	logsLimit  = 60 * time.Second
	askLimit   = 10 * time.Second
	// deleteLimit includes the time for a node that does not respond.
	deleteLimit = 90 * time.Second
)

func (k *Kubernetes) Start(ctx context.Context, j Join, ended func(error)) (stop func() error, err error) {
	manifests, err := k.Manifests(&j)
	if err != nil {
		return nil, err
	}
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var followers sync.WaitGroup
	stop = sync.OnceValue(func() error {
		cancel()
		followers.Wait()
		return k.remove()
	})
	if err := k.apply(ctx, manifests); err != nil {
		return stop, err
	}
	k.Logf("Job %s with %d pods is applied", k.id, k.n)
	followers.Go(func() { k.followPods(following) })
	followers.Go(func() { k.followJob(following, ended) })
	return stop, nil
}

// apply creates the objects. It is not interrupted: an object might be created after the removal.
func (k *Kubernetes) apply(ctx context.Context, manifests []byte) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyLimit)
	defer cancel()
	if err := k.kubectl(limited, manifests, nil, "apply", "--filename=-"); err != nil {
		return err
	}
	// The Job owns the Secret: both are deleted if this process cannot delete them.
	uid, err := k.output(limited, "get", "job/"+k.id, "--output=jsonpath={.metadata.uid}")
	if err != nil {
		return err
	}
	owner := fmt.Sprintf(`{"metadata": {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": %q, "uid": %q}]}}`, k.id, uid)
	if err := k.kubectl(limited, nil, nil, "patch", "secret/"+k.id, "--type=merge", "--patch="+owner); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (k *Kubernetes) remove() error {
	err := k.saveLogs("kubernetes.log", "--selector="+k.selector(), "--prefix", "--tail=-1", "--ignore-errors",
		"--max-log-requests=10000")
	if err != nil {
		k.Logf("the output of the pods was not saved: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteLimit)
	defer cancel()
	job, secret := "job/"+k.id, "secret/"+k.id
	err = k.kubectl(ctx, nil, nil, "delete", "--ignore-not-found", "--cascade=foreground", "--wait", job, secret)
	if err != nil && k.isDeleting() {
		k.Logf("%s: some pods remain because their nodes do not respond; Kubernetes removes these pods when the nodes return or are deleted", k.id)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; to delete anything left over, run: kubectl %s", err, strings.Join(append(k.cluster(), "delete", job, secret), " "))
	}
	return nil
}

// isDeleting reports whether the Job is being deleted, and waits for its pods.
func (k *Kubernetes) isDeleting() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	since, err := k.output(ctx, "get", "job/"+k.id, "--output=jsonpath={.metadata.deletionTimestamp}")
	return err == nil && since != ""
}

func (k *Kubernetes) saveLogs(name string, which ...string) error {
	if k.Dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(k.Dir, name))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), logsLimit)
	defer cancel()
	save := func(r io.Reader) error { _, err := io.Copy(f, r); return err }
	return errors.Join(k.kubectl(ctx, nil, save, append([]string{"logs"}, which...)...), f.Close())
}

func (k *Kubernetes) selector() string { return runLabel + "=" + k.id }

// kubectl runs kubectl, which is killed when ctx is done and ignores Ctrl-C. A nil read discards its output.
func (k *Kubernetes) kubectl(ctx context.Context, in []byte, read func(io.Reader) error, args ...string) error {
	all := slices.Concat([]string{"kubectl"}, k.cluster(), args)
	p, err := site.Here{}.Start(site.Program{Args: all, Mark: Mark + "=" + k.Owner})
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("kubectl is not in PATH: install it (https://kubernetes.io/docs/tasks/tools)")
	}
	if err != nil {
		return fmt.Errorf("start kubectl: %w", err)
	}
	defer context.AfterFunc(ctx, p.Kill)()
	stderr, readErr := exchange(p, in, read)
	<-p.Exited()
	text, code := p.State()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("kubectl %s: %w%s", args[0], context.Cause(ctx), stderr)
	case code != 0:
		return fmt.Errorf("kubectl %s: %s%s", args[0], text, stderr)
	case readErr != nil:
		return fmt.Errorf("kubectl %s: %w", args[0], readErr)
	}
	return nil
}

// exchange writes to a process and reads all its output. It returns its stderr as a suffix for an error.
func exchange(p site.Process, in []byte, read func(io.Reader) error) (stderr string, err error) {
	var text bytes.Buffer
	var streams sync.WaitGroup
	streams.Go(func() {
		_, _ = p.Stdin().Write(in) // the process reports this itself
		_ = p.Stdin().Close()
	})
	streams.Go(func() {
		_, _ = io.Copy(&text, p.Stderr())
		_ = p.Stderr().Close()
	})
	if read != nil {
		err = read(p.Stdout())
	}
	_, _ = io.Copy(io.Discard, p.Stdout())
	_ = p.Stdout().Close()
	streams.Wait()
	if printed := strings.TrimSpace(text.String()); printed != "" {
		stderr = ": " + printed
	}
	return stderr, err
}

func (k *Kubernetes) output(ctx context.Context, args ...string) (string, error) {
	var text []byte
	err := k.kubectl(ctx, nil, func(r io.Reader) (err error) { text, err = io.ReadAll(r); return err }, args...)
	return string(text), err
}

func (k *Kubernetes) cluster() (flags []string) {
	for _, name := range []string{"context", "namespace"} {
		if value := k.options[name]; value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	return flags
}

// Option is an option of an engine, after its number of agents: kubernetes:3,NAME=VALUE.
type Option struct {
	Name, About, Default string
	valid                *regexp.Regexp
}

var (
	label    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	quantity = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|[kMGT]i?|Ki)?$`)
	noSpace  = regexp.MustCompile(`^[^\s,]+$`)
)

func KubernetesOptions() []Option {
	return []Option{
		{"image", "image whose entry point is this version of zkbench", defaultImage(), noSpace},
		{"pull", "imagePullPolicy: IfNotPresent, Always or Never", "IfNotPresent", regexp.MustCompile(`^(IfNotPresent|Always|Never)$`)},
		{"namespace", "namespace (default: the namespace of kubectl's context)", "", label},
		{"context", "kubectl context to use (default: the current context)", "", noSpace},
		{"host", "address at which pods reach the coordinator (default: this machine's address on the route to the cluster)", "", noSpace},
		{"network", "pod, or host for a cluster without a pod network", "pod", regexp.MustCompile(`^(pod|host)$`)},
		{"cpu", "cores requested for each agent", "500m", quantity},
		{"memory", "memory requested for each agent, and its limit", "512Mi", quantity},
	}
}

func parseOptions(text string, known []Option) (map[string]string, error) {
	values := map[string]string{}
	for _, o := range known {
		values[o.Name] = o.Default
	}
	if text == "" {
		return values, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		i := slices.IndexFunc(known, func(o Option) bool { return o.Name == name })
		if i < 0 {
			names := units.Names(known, func(o Option) string { return o.Name })
			return nil, fmt.Errorf("unknown option %q; the options are %s", name, strings.Join(names, ", "))
		}
		if !known[i].valid.MatchString(value) {
			return nil, fmt.Errorf("%s=%s: invalid value, want: %s", name, value, known[i].About)
		}
		values[name] = value
	}
	return values, nil
}

// defaultImage returns the published image for a release, otherwise the image that make image builds.
func defaultImage() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return imageOf(info.Main.Version)
	}
	return localImage
}

const localImage = "zkbench:local"

func imageOf(version string) string {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		return localImage
	}
	return "ghcr.io/zkbench/zkbench:" + strings.TrimPrefix(version, "v")
}

//go:embed engine_kubernetes.yaml
var kubernetesText string

var kubernetesTemplate = text.Must(text.New("engine_kubernetes.yaml").Parse(kubernetesText))

const (
	runLabel         = "zkbench/run" // label of every object; its value is the engine's ID
	attemptsPerIndex = 6             // retries; each waits twice as long as the last
)

const placeholder = "(the join file of the coordinator: --join FILE puts it here)\n"

// Manifests renders the objects that Start creates. Without a Join the Secret has a placeholder.
func (k *Kubernetes) Manifests(j *Join) ([]byte, error) {
	secret := placeholder
	if j != nil {
		reachable := *j
		if err := k.setHost(&reachable); err != nil {
			return nil, err
		}
		secret = string(reachable.Encode())
	}
	var out bytes.Buffer
	err := kubernetesTemplate.Execute(&out, map[string]any{
		"Name": k.id, "Label": runLabel, "Join": secret, "Agents": k.n, "Attempts": attemptsPerIndex, "Options": k.options,
	})
	return out.Bytes(), err
}

// setHost makes agents dial the option host, or fails if pods cannot reach the present address.
func (k *Kubernetes) setHost(j *Join) error {
	host, port, err := net.SplitHostPort(j.Address)
	if err != nil {
		return err
	}
	named := k.options["host"]
	if ip := net.ParseIP(host); named == "" && (ip.IsUnspecified() || ip.IsLoopback()) {
		return fmt.Errorf("pods cannot reach the coordinator at %s: set another address with host=ADDRESS", host)
	}
	j.Address = net.JoinHostPort(cmp.Or(named, host), port)
	return nil
}

type (
	metadata struct {
		Name              string
		DeletionTimestamp string
	}
	condition struct {
		Type, Status, Reason, Message string
	}
	reason struct {
		Reason, Message string
		ExitCode        int
	}
	podObject struct {
		Metadata metadata
		Status   struct {
			Conditions        []condition
			ContainerStatuses []struct {
				State struct{ Waiting, Terminated *reason }
			}
		}
	}
	jobObject struct {
		Status struct {
			Conditions    []condition
			FailedIndexes string
		}
	}
)

// watchPause is the delay before a watch that has ended begins again: the API ends watches at times.
const watchPause = time.Second

// follow calls seen with each object of a kind, at first and when it changes, until ctx is done.
func follow[T any](ctx context.Context, k *Kubernetes, kind string, seen func(event string, object T)) {
	for logged := ""; ctx.Err() == nil; {
		err := k.kubectl(ctx, nil, func(r io.Reader) error { return changes(r, seen) },
			"get", kind, "--selector="+k.selector(), "--watch", "--output-watch-events", "--output=json")
		if err != nil && ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			k.Logf("cannot watch the %ss of the agents, will retry: %v", kind, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

func changes[T any](r io.Reader, seen func(event string, object T)) error {
	for d := json.NewDecoder(r); ; {
		var c struct {
			Type   string
			Object T
		}
		err := d.Decode(&c)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		seen(c.Type, c.Object)
	}
}

func (k *Kubernetes) followPods(ctx context.Context) {
	logged, deleting := map[string]string{}, map[string]bool{}
	var logs sync.WaitGroup
	defer logs.Wait()
	follow(ctx, k, "pod", func(_ string, p podObject) {
		name, text := p.Metadata.Name, p.problem()
		if text != "" && text != logged[name] {
			k.Logf("pod %s %s", name, text)
		}
		logged[name] = text
		if p.Metadata.DeletionTimestamp != "" && !deleting[name] {
			deleting[name] = true
			logs.Go(func() { _ = k.saveLogs(name+".log", "pod/"+name, "--follow") }) // it may be deleted already
		}
	})
}

func (p podObject) problem() string {
	if p.Metadata.DeletionTimestamp != "" {
		return "is being deleted: another pod will take its index"
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return "has no node: " + c.Message
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" {
			return fmt.Sprintf("waits: %s: %s", w.Reason, w.Message)
		}
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			last := strings.TrimSpace(t.Message)
			return fmt.Sprintf("has ended (%s, exit code %d): %s", t.Reason, t.ExitCode, last[strings.LastIndexByte(last, '\n')+1:])
		}
	}
	return ""
}

// followJob reports an agent that will not be replaced, and closes over when the Job ends.
func (k *Kubernetes) followJob(ctx context.Context, ended func(error)) {
	reported := ""
	end := sync.OnceFunc(func() { close(k.done) })
	follow(ctx, k, "job", func(event string, j jobObject) {
		if event == "DELETED" {
			j.Status.Conditions = []condition{{Type: "Failed", Status: "True", Reason: "deleted", Message: "by another user of the cluster"}}
		}
		if why := j.failure(); why != reported {
			reported = why
			ended(fmt.Errorf("the Job %s: %s", k.id, why))
		}
		if j.has("Complete") != nil || j.has("Failed") != nil {
			end()
		}
	})
}

func (j jobObject) failure() string {
	if c := j.has("Failed"); c != nil {
		return fmt.Sprintf("it has failed: %s: %s", c.Reason, c.Message)
	}
	if failed := j.Status.FailedIndexes; failed != "" {
		return fmt.Sprintf("agents %s have failed more than %d times and will not be restarted", failed, attemptsPerIndex)
	}
	return ""
}

func (j jobObject) has(kind string) *condition {
	for _, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == "True" {
			return &c
		}
	}
	return nil
}
