package agents

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	text "text/template"
)

//go:embed engine_kubernetes.yaml
var kubernetesText string

var kubernetesTemplate = text.Must(text.New("engine_kubernetes.yaml").Funcs(text.FuncMap{"quote": quote}).Parse(kubernetesText))

// quote returns any text as a YAML string, in the form of JSON.
func quote(text string) (string, error) {
	quoted, err := json.Marshal(text)
	return string(quoted), err
}

// runLabel is the label of every object. Its value is the engine's ID.
const runLabel = "zkbench/run"

const (
	attemptsPerIndex = 6     // retries; each waits twice as long as the last
	keepFinished     = 300   // seconds that a Job is kept without its coordinator
	graceSeconds     = 10    // grace period of a pod, in seconds
	imageUser        = 65532 // user of the image; any other works
)

// manifest is the data of the template.
type manifest struct {
	Name, Label, Join           string
	Agents                      int
	Attempts, Keep, Grace, User int
	Options                     map[string]string
	Endpoint, Port, Family      string // of the coordinator, if it is behind a Service
}

// placeholder is for a Secret that is only displayed.
const placeholder = "(the join file of the coordinator: --join FILE puts it here)\n"

// Manifests renders the objects that Start creates. Without a Join the Secret has a placeholder.
func (k *Kubernetes) Manifests(j *Join) ([]byte, error) {
	m := manifest{
		Name: k.id, Label: runLabel, Join: placeholder, Agents: k.n, Options: k.options,
		Attempts: attemptsPerIndex, Keep: keepFinished, Grace: graceSeconds, User: imageUser,
	}
	if j != nil {
		reached := *j
		if err := errors.Join(m.reach(&reached), m.putServiceInFront(&reached)); err != nil {
			return nil, err
		}
		m.Join = string(reached.Encode())
	}
	var out bytes.Buffer
	err := kubernetesTemplate.Execute(&out, m)
	return out.Bytes(), err
}

// reach makes agents dial an address of the coordinator that pods reach.
func (m *manifest) reach(j *Join) error {
	host, port, err := net.SplitHostPort(j.Address)
	if err != nil {
		return err
	}
	if named := m.Options["host"]; named != "" {
		j.Address = net.JoinHostPort(named, port)
		return nil
	}
	if ip := net.ParseIP(host); ip.IsUnspecified() || ip.IsLoopback() {
		return fmt.Errorf("pods do not reach the coordinator at %s: name another address: host=ADDRESS", host)
	}
	return nil
}

// putServiceInFront makes agents dial a Service in front of the coordinator, if requested.
func (m *manifest) putServiceInFront(j *Join) error {
	if m.Options["service"] != "yes" {
		return nil
	}
	host, port, err := net.SplitHostPort(j.Address)
	if err != nil {
		return err
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return fmt.Errorf("service=yes: a Service needs the coordinator's IP address, and it is known as %s: name it with host=ADDRESS", host)
	}
	m.Endpoint, m.Port, m.Family = host, port, "IPv6"
	if ip.To4() != nil {
		m.Family = "IPv4"
	}
	j.Address = net.JoinHostPort(m.Name, port) // pods are in the namespace of the Service
	return nil
}
