package addons

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// csi-proxy in a container of the host, with name and labels of kubernetes-sigs/sig-windows-tools 401ee6f,
// hostprocess/csi-proxy/csi-proxy.yaml, which tolerates no taint.
const (
	csiProxyName  = "csi-proxy"
	csiProxyImage = "ghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.1.2"
)

func csiProxy(pools []Pool, options Options) ([]runtime.Object, error) {
	if !options.CSIProxy {
		return nil, nil
	}
	for _, p := range pools {
		if p.CSIProxy {
			return nil, fmt.Errorf("%s: spec.windows.csiProxy makes csi-proxy a service of these nodes, and --csi-proxy would start a "+
				"second one there; remove one of the two", p.name())
		}
	}
	pod := onWindows(corev1.Container{
		Name: csiProxyName, Image: options.image(csiProxyImage),
	})
	return []runtime.Object{daemonSet(csiProxyName, map[string]string{"name": csiProxyName}, pod)}, nil
}
