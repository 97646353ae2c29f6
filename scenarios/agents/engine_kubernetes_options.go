package agents

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// Option is an option of an engine, after its number of agents: kubernetes:3,NAME=VALUE.
type Option struct {
	Name, About, Default string
	valid                *regexp.Regexp
}

var (
	label    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	quantity = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|[kMGT]i?|Ki)?$`)
	word     = regexp.MustCompile(`^[^\s,]+$`)
)

// KubernetesOptions returns the options of the engine kubernetes.
func KubernetesOptions() []Option {
	return []Option{
		{"image", "image whose entry point is this very zkbench", defaultImage(), word},
		{"pull", "imagePullPolicy: IfNotPresent, Always or Never", "IfNotPresent", regexp.MustCompile(`^(IfNotPresent|Always|Never)$`)},
		{"namespace", "namespace (default: that of kubectl's context)", "", label},
		{"context", "context of kubectl (default: the current one)", "", word},
		{"host", "address by which pods reach the coordinator (default: that by which this machine reaches the cluster)", "", word},
		{"service", "yes: put a headless Service in front of the coordinator, which needs the cluster's DNS", "no", regexp.MustCompile(`^(yes|no)$`)},
		{"network", "pod, or host for a cluster without a network of pods", "pod", regexp.MustCompile(`^(pod|host)$`)},
		{"cpu", "cores requested for each agent", "500m", quantity},
		{"memory", "memory requested for each agent, and its limit", "512Mi", quantity},
	}
}

// parseOptions parses NAME=VALUE,...
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
			return nil, fmt.Errorf("there is no option %q: the options are %s", name, strings.Join(names(known), ", "))
		}
		if !known[i].valid.MatchString(value) {
			return nil, fmt.Errorf("%s=%s: it is the %s", name, value, known[i].About)
		}
		values[name] = value
	}
	return values, nil
}

func names(options []Option) (all []string) {
	for _, o := range options {
		all = append(all, o.Name)
	}
	return all
}

// defaultImage is the published image for a release of zkbench, otherwise the image that make image
// builds.
func defaultImage() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return localImage
	}
	return imageOf(info.Main.Version)
}

const localImage = "zkbench:local"

func imageOf(version string) string {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		return localImage
	}
	return "ghcr.io/zkbench/zkbench:" + strings.TrimPrefix(version, "v")
}
