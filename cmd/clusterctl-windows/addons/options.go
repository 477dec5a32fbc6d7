package addons

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// registryName is a host with or without a port, and folders: what stands before the name of an image.
var registryName = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

func (o Options) check() error {
	if o.Registry != "" && !registryName.MatchString(o.Registry) {
		return fmt.Errorf("--registry %q is not the beginning of an image's name; write one such as registry.example.com/mirror",
			o.Registry)
	}
	for _, release := range o.Releases {
		if !slices.Contains(Releases, release) {
			return fmt.Errorf("--windows %q is not a release of Windows Server; use %s", release, strings.Join(Releases, ", "))
		}
	}
	return nil
}

// image is upstream's, or its copy at the user's registry.
func (o Options) image(upstream string) string {
	if o.Registry == "" {
		return upstream
	}
	return mirrored(o.Registry, upstream)
}

// Claims are the values that flags give for pools and their Cluster. An empty field is a flag that is not set.
type Claims struct {
	Version, Mode, CNI, KubeProxy string
	Cluster                       Cluster
}

// claim is a flag, its value, and what the file has for the same field.
type claim struct{ flag, flagValue, field, stands string }

// refuse returns an error if the flag and the file differ.
func (s claim) refuse(object string) error {
	if s.flagValue == "" || s.flagValue == s.stands {
		return nil
	}
	return fmt.Errorf("%s: %s is %s, but %s is %s; leave the flag out, or change the object",
		object, s.field, s.stands, s.flag, s.flagValue)
}

// Complete fills the fields that the files leave out from the flags. It refuses flags that contradict the files.
func (s Claims) Complete(p Pool) (Pool, error) {
	p.Version = cmp.Or(p.Version, s.Version)
	if err := (claim{"--kubernetes-version", s.Version, "its version", p.Version}).refuse(p.Name); err != nil {
		return p, err
	}
	if p.Network.Mode == "" { // then no other field has a value
		p.Network.Mode, p.Network.CNI = bootstrapv1.NetworkMode(s.Mode), bootstrapv1.CNI(s.CNI)
		p.Network.KubeProxy.Run = bootstrapv1.KubeProxyRun(s.KubeProxy)
		if p.Network.Mode == "" && (s.CNI != "" || s.KubeProxy != "") {
			return p, fmt.Errorf("%s: --mode is missing, without which --cni and --kube-proxy have no effect", p.name())
		}
		return p, nil
	}
	for _, c := range []claim{
		{"--mode", s.Mode, "spec.network.mode", string(p.Network.Mode)},
		{"--cni", s.CNI, "spec.network.cni", cmp.Or(string(p.Network.CNI), "not set")},
		{"--kube-proxy", s.KubeProxy, "spec.network.kubeProxy.run", string(bootstrap.KubeProxyRun(p.Network))},
	} {
		if err := c.refuse(p.Name); err != nil {
			return p, err
		}
	}
	return p, nil
}

// CompleteCluster does the same for the Cluster.
func (s Claims) CompleteCluster(c Cluster) (Cluster, error) {
	object, flags := "Cluster "+c.Namespace+"/"+c.Name, s.Cluster
	for _, f := range []struct {
		value *string
		claim
	}{
		{&c.Name, claim{"--cluster", flags.Name, "its name", c.Name}},
		{&c.Host, claim{"--endpoint", flags.endpoint(), "spec.controlPlaneEndpoint", c.endpoint()}},
	} {
		if f.stands == "" {
			continue
		}
		if err := f.refuse(object); err != nil {
			return c, err
		}
	}
	c.Name = cmp.Or(c.Name, flags.Name)
	if c.Host == "" {
		c.Host, c.Port = flags.Host, flags.Port
	}
	for _, f := range []struct {
		flag, field string
		flagValues  []string
		value       *[]string
	}{
		{"--pod-cidr", "spec.clusterNetwork.pods", flags.Pods, &c.Pods},
		{"--service-cidr", "spec.clusterNetwork.services", flags.Services, &c.Services},
	} {
		if len(*f.value) == 0 {
			*f.value = f.flagValues
		}
		joined := claim{f.flag, strings.Join(f.flagValues, ","), f.field, strings.Join(*f.value, ",")}
		if err := joined.refuse(object); err != nil {
			return c, err
		}
	}
	return c, nil
}
