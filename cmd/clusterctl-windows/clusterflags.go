package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
)

// clusterFlags name the cluster that a command asks, as kubectl's flags do. A command that reads files asks none unless the user
// names it, because the user's kubeconfig must not be used for files from elsewhere. check linux, which reads a cluster and no
// files, follows the current context as kubectl does; smoke, which starts privileged pods, does not.
//
// cli-runtime's ConfigFlags, which do the same, would link all of kustomize and the types of all of Kubernetes' APIs: a third of
// this program's size. What loads the kubeconfig is the same library, client-go's clientcmd.
type clusterFlags struct {
	kubeconfig, context, ofObjects string
	// follows is set for a command that asks the cluster of the current context if no other is named.
	follows bool
}

// addTo adds the flags of a command that reads objects; why is what the management cluster is asked for.
func (f *clusterFlags) addTo(cmd *cobra.Command, purpose string) {
	f.addClusterTo(cmd, "management", purpose)
	cmd.Flags().StringVarP(&f.ofObjects, "namespace", "n", "",
		"`NAMESPACE` of objects without a namespace; if it is not set, that of the cluster's context, or default")
}

// addClusterTo adds the flags that name a cluster of this kind.
func (f *clusterFlags) addClusterTo(cmd *cobra.Command, kind, purpose string) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` with the address of a "+kind+" cluster, "+purpose)
	flags.StringVar(&f.context, "context", "", "`NAME` of a context of your kubeconfig, for the same")
	completes(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return f.contexts(), cobra.ShellCompDirectiveNoFileComp
	})
}

// asked reports whether the user named a cluster.
func (f *clusterFlags) asked() bool { return f.kubeconfig != "" || f.context != "" }

// namespace is that of objects without one, as kubectl would choose it.
func (f *clusterFlags) namespace() (string, error) {
	if f.ofObjects != "" {
		return f.ofObjects, nil
	}
	if !f.asked() && !f.follows {
		return "default", nil
	}
	namespace, _, err := f.loader().Namespace()
	return namespace, f.explain(err)
}

// server is the API server of that cluster.
func (f *clusterFlags) server() (*remote.Server, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, f.explain(err)
	}
	return remote.New(config, cmp.Or(f.named(), f.followed()))
}

func (f *clusterFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}

// explain adds the flags that an error is about.
func (f *clusterFlags) explain(err error) error {
	if err == nil {
		return nil
	}
	contexts := f.contexts()
	if f.context != "" && len(contexts) > 0 && !slices.Contains(contexts, f.context) {
		return fmt.Errorf("the kubeconfig has no context %q%s", f.context, didYouMean(f.context, contexts))
	}
	if f.named() == "" {
		return errors.New("your kubeconfig has no current context; name a cluster with --kubeconfig FILE, as clusterctl get " +
			"kubeconfig writes it, or with --context NAME" + offered(contexts))
	}
	return fmt.Errorf("%s: %w", f.named(), err)
}

// named is what the user has called the kubeconfig; empty if the current context is meant and there is none.
func (f *clusterFlags) named() string {
	switch current := f.current(); {
	case f.kubeconfig != "":
		return "--kubeconfig " + f.kubeconfig
	case f.context != "":
		return "--context " + f.context
	case current != "":
		return "the current context " + current
	}
	return ""
}

// offered lists the contexts of a kubeconfig, for the end of a sentence.
func offered(contexts []string) string {
	if len(contexts) == 0 {
		return ""
	}
	return ": " + strings.Join(contexts, ", ")
}

// followed is the cluster that is asked if no other is named. Without a kubeconfig, client-go takes that of the pod it runs in.
func (f *clusterFlags) followed() string {
	if name := f.current(); name != "" {
		return "the cluster of your current context, " + name
	}
	return "the cluster of this pod"
}

// current is the current context of the kubeconfig; empty if there is none.
func (f *clusterFlags) current() string {
	raw, err := f.loader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}

// contexts are those of the kubeconfig; none if it cannot be read.
func (f *clusterFlags) contexts() (names []string) {
	raw, err := f.loader().RawConfig()
	if err != nil {
		return nil
	}
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// readHostPort reads the HOST:PORT of a server.
func readHostPort(text string) (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return "", 0, err
	}
	if host == "" || number == 0 {
		return "", 0, fmt.Errorf("%s has no host, or the port 0", text)
	}
	return host, uint16(number), nil
}
