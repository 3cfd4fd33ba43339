// Kube is the Kubernetes programs of the test cluster in one binary, which shares most of their code:
//
//	kube etcd|apiserver|controller-manager|scheduler|kubelet|kubectl ARGUMENTS...
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Only the chosen command is made: each registers its metrics and features globally.
var programs = map[string]func() *cobra.Command{
	"apiserver":          func() *cobra.Command { return apiserver.NewAPIServerCommand() },
	"controller-manager": func() *cobra.Command { return controllers.NewControllerManagerCommand() },
	"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":            func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kubectl":            kubectl.NewDefaultKubectlCommand,
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	name, arguments := os.Args[1], os.Args[2:]
	if name == "etcd" {
		etcdmain.Main(append([]string{name}, arguments...))
		return
	}
	program, known := programs[name]
	if !known {
		usage()
	}
	os.Args = append([]string{"kube-" + name}, arguments...)
	os.Exit(cli.Run(program()))
}

func usage() {
	names := []string{"etcd"}
	for name := range programs {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintln(os.Stderr, "usage: kube "+strings.Join(names, "|")+" ARGUMENTS...")
	os.Exit(2)
}
