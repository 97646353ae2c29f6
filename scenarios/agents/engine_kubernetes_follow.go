package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Parts of the cluster's objects that are used.
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

// rewatch is the delay before a watch that has ended begins again: the API ends watches at times.
const rewatch = time.Second

// deleted is the event of an object that was deleted.
const deleted = "DELETED"

// follow calls seen with each object of a kind, at first and when it changes, until ctx is done.
func follow[T any](ctx context.Context, k *Kubernetes, kind string, seen func(event string, object T)) {
	for said := ""; ctx.Err() == nil; {
		err := k.kubectl(ctx, nil, func(r io.Reader) error { return changes(r, seen) },
			"get", kind, "--selector="+k.selector(), "--watch", "--output-watch-events", "--output=json")
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			k.Logf("the %ss of the agents are not seen for the moment: %v", kind, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(rewatch):
		}
	}
}

// changes parses kubectl's output of a watch.
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

// followPods logs why agents do not run, and saves the logs of deleted pods.
func (k *Kubernetes) followPods(ctx context.Context) {
	said, leaving := map[string]string{}, map[string]bool{}
	var logs sync.WaitGroup
	defer logs.Wait()
	follow(ctx, k, "pod", func(_ string, p podObject) {
		name, text := p.Metadata.Name, p.trouble()
		if text != "" && text != said[name] {
			k.Logf("pod %s %s", name, text)
		}
		said[name] = text
		if p.Metadata.DeletionTimestamp != "" && !leaving[name] {
			leaving[name] = true
			logs.Go(func() { _ = k.keep(name+".log", "pod/"+name, "--follow") }) // it may be deleted already
		}
	})
}

// trouble returns why the pod's agent does not run or will soon end.
func (p podObject) trouble() string {
	if p.Metadata.DeletionTimestamp != "" {
		return "is being deleted: another one takes its index"
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
	said := ""
	follow(ctx, k, "job", func(event string, j jobObject) {
		if event == deleted {
			j.Status.Conditions = []condition{{Type: "Failed", Status: "True", Reason: "deleted", Message: "by somebody else"}}
		}
		if why := j.failure(); why != said {
			said = why
			ended(fmt.Errorf("the Job %s: %s", k.id, why))
		}
		if (j.has("Complete") != nil || j.has("Failed") != nil) && !k.finished {
			k.finished = true
			close(k.over)
		}
	})
}

// failure returns why an agent will not be replaced.
func (j jobObject) failure() string {
	if c := j.has("Failed"); c != nil {
		return fmt.Sprintf("it has failed: %s: %s", c.Reason, c.Message)
	}
	if failed := j.Status.FailedIndexes; failed != "" {
		return fmt.Sprintf("agents %s have failed more than %d times, and do not come back", failed, attemptsPerIndex)
	}
	return ""
}

// has returns a condition that is true, or nil.
func (j jobObject) has(kind string) *condition {
	for _, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == "True" {
			return &c
		}
	}
	return nil
}
