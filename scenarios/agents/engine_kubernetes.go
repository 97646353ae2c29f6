package agents

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Kubernetes runs agents as pods of an Indexed Job: the completion index is the agent's. It uses
// kubectl, with its permissions and context.
//
// A pod that fails or is deleted is replaced by one with the same index. In a run that is a new
// agent; the clients of the old one are killed.
type Kubernetes struct {
	Place
	n       int
	id      string // part of the names of all objects
	options map[string]string

	over     chan struct{}
	finished bool // over is closed
}

// parseKubernetes parses N,NAME=VALUE,...
func parseKubernetes(rest string, p Place) (Engine, error) {
	number, said, _ := strings.Cut(rest, ",")
	n, err := count(number)
	if err != nil {
		return nil, err
	}
	options, err := parseOptions(said, KubernetesOptions())
	if err != nil {
		return nil, err
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	return &Kubernetes{Place: p, n: n, id: "zkbench-agents-" + hex.EncodeToString(id), options: options, over: make(chan struct{})}, nil
}

func (k *Kubernetes) Agents() int { return k.n }

// Over returns a channel that is closed when the Job has ended.
func (k *Kubernetes) Over() <-chan struct{} { return k.over }

// Reach implements Engine.
func (k *Kubernetes) Reach(ctx context.Context) (listen, host string, err error) {
	listen, host = cmp.Or(k.Listen, ":0"), k.options["host"]
	if own, _, err := net.SplitHostPort(listen); host == "" && err == nil && !everywhere(own) {
		host = own
	}
	if host != "" {
		return listen, host, nil
	}
	if host, err = k.guess(ctx); err != nil {
		return "", "", fmt.Errorf("no address is known by which pods reach the coordinator: %w; name one: host=ADDRESS", err)
	}
	k.Logf("pods are to reach the coordinator at %s (host=ADDRESS names another address)", host)
	return listen, host, nil
}

// guess returns the address of this machine, or pod, on the route to the cluster's API: nodes can
// probably reach it too.
func (k *Kubernetes) guess(ctx context.Context) (string, error) {
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	if server == ":" { // not in a pod
		var text strings.Builder
		if err := k.kubectl(ctx, nil, into(&text), "config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}"); err != nil {
			return "", err
		}
		u, err := url.Parse(strings.TrimSpace(text.String()))
		if err != nil {
			return "", fmt.Errorf("kubectl's server: %w", err)
		}
		server = net.JoinHostPort(u.Hostname(), portOf(u))
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", server) // sends no packet
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ours := conn.LocalAddr().(*net.UDPAddr).IP
	if ours.IsLoopback() {
		return "", fmt.Errorf("the cluster's API is on this machine (%s)", server)
	}
	return ours.String(), nil
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return "443"
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
	k.Logf("Job %s of %d pods is applied", k.id, k.n)
	followers.Go(func() { k.followPods(following) })
	followers.Go(func() { k.followJob(following, ended) })
	return stop, nil
}

// apply creates the objects of the manifests. It is not interrupted: an object might be created
// after the removal.
func (k *Kubernetes) apply(ctx context.Context, manifests []byte) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyLimit)
	defer cancel()
	if err := k.kubectl(limited, manifests, nil, "apply", "--filename=-"); err != nil {
		return err
	}
	if err := k.handOver(limited); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// handOver makes the Job the owner of the other objects, so that they are deleted with it even if
// this process cannot.
func (k *Kubernetes) handOver(ctx context.Context) error {
	var uid strings.Builder
	if err := k.kubectl(ctx, nil, into(&uid), "get", "job/"+k.id, "--output=jsonpath={.metadata.uid}"); err != nil {
		return err
	}
	owner := fmt.Sprintf(`{"metadata": {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": %q, "uid": %q}]}}`, k.id, uid.String())
	for _, kind := range k.kinds()[1:] {
		if err := k.kubectl(ctx, nil, nil, "patch", kind+"/"+k.id, "--type=merge", "--patch="+owner); err != nil {
			return err
		}
	}
	return nil
}

// kinds returns the kinds of objects: the Job and its dependents.
func (k *Kubernetes) kinds() []string {
	if k.options["service"] == "yes" {
		return []string{"job", "secret", "service", "endpointslice"}
	}
	return []string{"job", "secret"}
}

func (k *Kubernetes) remove() error {
	if err := k.keepLogs(); err != nil {
		k.Logf("the pods' output is not kept: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteLimit)
	defer cancel()
	var all []string
	for _, kind := range k.kinds() {
		all = append(all, kind+"/"+k.id)
	}
	args := append([]string{"delete", "--ignore-not-found", "--cascade=foreground", "--wait"}, all...)
	err := k.kubectl(ctx, nil, nil, args...)
	if err != nil && k.leaving() {
		k.Logf("%s: pods of nodes that do not answer are left, and go when their nodes are back, or are deleted", k.id)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; delete possible leftovers: kubectl %s", err, strings.Join(append(k.cluster(), append([]string{"delete"}, all...)...), " "))
	}
	return nil
}

// leaving reports whether the Job is being deleted, and waits for its pods.
func (k *Kubernetes) leaving() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	var since strings.Builder
	err := k.kubectl(ctx, nil, into(&since), "get", "job/"+k.id, "--output=jsonpath={.metadata.deletionTimestamp}")
	return err == nil && since.Len() > 0
}

// keepLogs saves the logs of the existing pods to a file.
func (k *Kubernetes) keepLogs() error {
	return k.keep("kubernetes.log", "--selector="+k.selector(), "--prefix", "--tail=-1", "--ignore-errors", "--max-log-requests=10000")
}

func (k *Kubernetes) keep(name string, which ...string) error {
	if k.Dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(k.Dir, name))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), logsLimit)
	defer cancel()
	return errors.Join(k.kubectl(ctx, nil, into(f), append([]string{"logs"}, which...)...), f.Close())
}

func (k *Kubernetes) selector() string { return runLabel + "=" + k.id }
