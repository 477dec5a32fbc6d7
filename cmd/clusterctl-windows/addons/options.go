package addons

import (
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

// Said is what flags say of pools and their Cluster. What is empty is not said.
type Said struct {
	Version, Mode, CNI, KubeProxy string
	Cluster                       Cluster
}

// said is a value of a file, and that of the flag for it.
type said struct{ flag, by, what, stands string }

// refuse is an error if a flag says something else than the file.
func (s said) refuse(object string) error {
	if s.by == "" || s.by == s.stands {
		return nil
	}
	return fmt.Errorf("%s: %s is %s, but %s is %s; leave the flag out, or change the object",
		object, s.what, s.stands, s.flag, s.by)
}

// Complete returns the pool with what the flags say where the files say nothing. It refuses flags that say something else.
func (s Said) Complete(p Pool) (Pool, error) {
	if p.Version == "" {
		p.Version = s.Version
	}
	if err := (said{"--kubernetes-version", s.Version, "its version", p.Version}).refuse(p.Name); err != nil {
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
	for _, one := range []said{
		{"--mode", s.Mode, "spec.network.mode", string(p.Network.Mode)},
		{"--cni", s.CNI, "spec.network.cni", orNotSet(string(p.Network.CNI))},
		{"--kube-proxy", s.KubeProxy, "spec.network.kubeProxy.run", string(bootstrap.KubeProxyRun(p.Network))},
	} {
		if err := one.refuse(p.Name); err != nil {
			return p, err
		}
	}
	return p, nil
}

func orNotSet(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// CompleteCluster does the same for the Cluster.
func (s Said) CompleteCluster(c Cluster) (Cluster, error) {
	object, flags := "Cluster "+c.Namespace+"/"+c.Name, s.Cluster
	for _, one := range []struct {
		value *string
		said
	}{
		{&c.Name, said{"--cluster", flags.Name, "its name", c.Name}},
		{&c.Host, said{"--endpoint", flags.endpoint(), "spec.controlPlaneEndpoint", c.endpoint()}},
	} {
		if one.stands == "" {
			continue
		}
		if err := one.refuse(object); err != nil {
			return c, err
		}
	}
	if c.Name == "" {
		c.Name = flags.Name
	}
	if c.Host == "" {
		c.Host, c.Port = flags.Host, flags.Port
	}
	for _, one := range []struct {
		flag, field string
		by          []string
		value       *[]string
	}{
		{"--pod-cidr", "spec.clusterNetwork.pods", flags.Pods, &c.Pods},
		{"--service-cidr", "spec.clusterNetwork.services", flags.Services, &c.Services},
	} {
		if len(*one.value) == 0 {
			*one.value = one.by
		}
		there := said{one.flag, strings.Join(one.by, ","), one.field, strings.Join(*one.value, ",")}
		if err := there.refuse(object); err != nil {
			return c, err
		}
	}
	return c, nil
}
