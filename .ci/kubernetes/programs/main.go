// Command kubernetes is Kubernetes in one program: the name that it is called by determines which
// part of it runs. One program is linked once, which takes less time and space than five.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var parts = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 kubelet.NewKubeletCommand,
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

func main() {
	part, known := parts[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintf(os.Stderr, "%s is no part of Kubernetes: call it by a link that is named kubelet, kubectl, or as a server\n", os.Args[0])
		os.Exit(2)
	}
	os.Exit(cli.Run(part()))
}
