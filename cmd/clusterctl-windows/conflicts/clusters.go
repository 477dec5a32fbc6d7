package conflicts

import (
	"errors"
	"fmt"
	"net"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// notKubeadms are the kinds of control planes that another program than kubeadm makes, and the program.
var notKubeadms = map[string]string{
	"AzureManagedControlPlane": aks, "AzureManagedCluster": aks, "AzureASOManagedControlPlane": aks, "AzureASOManagedCluster": aks,
	"AWSManagedControlPlane": "EKS", "AWSManagedCluster": "EKS", "ROSAControlPlane": "ROSA", "GCPManagedControlPlane": "GKE",
	"GCPManagedCluster": "GKE", "OCIManagedControlPlane": "OKE", "OCIManagedCluster": "OKE", "RKE2ControlPlane": "RKE2",
	"KThreesControlPlane": "k3s", "K0sControlPlane": "k0s", "K0smotronControlPlane": "k0s", "TalosControlPlane": "Talos",
	"MicroK8sControlPlane": "MicroK8s", "CK8sControlPlane": "Canonical Kubernetes",
}

const aks = "AKS"

// foreign is the reference of a Cluster to what another program than kubeadm makes, and that program.
func (s Subject) foreign() (ref clusterv1.ContractVersionedObjectReference, program string) {
	for _, ref = range []clusterv1.ContractVersionedObjectReference{
		s.Cluster.Spec.ControlPlaneRef,
		s.Cluster.Spec.InfrastructureRef,
	} {
		if program = notKubeadms[ref.Kind]; program != "" {
			return ref, program
		}
	}
	return ref, ""
}

// controlPlane is held, and not refused: what kubeadm join reads may be put into any cluster.
func (s Subject) controlPlane() []string {
	ref, program := s.foreign()
	switch {
	case program == aks:
		return []string{s.ofAKS(ref)}
	case program != "":
		return note("%s has %s: %s makes its control plane, not kubeadm, and a WindowsBootstrapConfig joins with kubeadm; no VM "+
			"is made while kubeadm's ConfigMaps are not there (ControlPlaneNotKubeadm). Use a Cluster with a KubeadmControlPlane",
			s.name(), refText(ref), program)
	}
	return nil
}

func (s Subject) ofAKS(ref clusterv1.ContractVersionedObjectReference) string {
	return fmt.Sprintf("%s is an AKS cluster (%s): Azure makes its control plane, not kubeadm, and no machine of this provider can "+
		"join it (ControlPlaneNotKubeadm). For Windows nodes in AKS use its own pools, such as an AzureManagedMachinePool with "+
		"osType: Windows; for this pool use a Cluster with an AzureCluster and a KubeadmControlPlane", s.name(), refText(ref))
}

// The clouds, as in a spec and in sentences.
const (
	azure, inAzure     = infrav1.CloudAzure, "Azure"
	vSphere, onVSphere = infrav1.CloudVSphere, "vSphere"
)

// cloudOf is where a kind of infrastructure is.
var cloudOf = map[string]string{
	"AzureCluster": inAzure, "VSphereCluster": onVSphere, "AWSCluster": "AWS", "GCPCluster": "Google Cloud",
	"OpenStackCluster": "OpenStack", "NutanixCluster": "Nutanix", "ProxmoxCluster": "Proxmox", "HetznerCluster": "Hetzner",
	"Metal3Cluster": "Metal3", "KubevirtCluster": "KubeVirt", "DockerCluster": "Docker", "VCDCluster": "VMware Cloud Director",
	"IBMVPCCluster": "IBM Cloud", "OCICluster": "Oracle Cloud", "LinodeCluster": "Linode", "CloudStackCluster": "CloudStack",
}

// cloud is that of the pool, as in its spec and in sentences.
func (s Subject) cloud() (field, people string) {
	if s.Windows.Spec.VSphere != nil {
		return vSphere, onVSphere
	}
	return azure, inAzure
}

// otherCloud is taken: a node may join across clouds, if it reaches the API server and the other nodes.
func (s Subject) otherCloud() []string {
	ref := s.Cluster.Spec.InfrastructureRef
	field, people := s.cloud()
	if clusterCloud := cloudOf[ref.Kind]; clusterCloud != "" && clusterCloud != people {
		return note("%s is on %s (%s), but spec.%s makes the VM on another cloud. Such a node joins only if it reaches the API "+
			"server and the pods of the others from there; if the pool belongs to the Cluster's own cloud, %s",
			s.name(), clusterCloud, refText(ref), field, remedy(clusterCloud))
	}
	return nil
}

// remedy describes how to write a pool for another cloud.
func remedy(cloud string) string {
	switch cloud {
	case inAzure:
		return "write spec.azure in the place of spec.vsphere"
	case onVSphere:
		return "write spec.vsphere in the place of spec.azure"
	}
	return "it cannot be made: this provider makes VMs in Azure and on vSphere"
}

// Explain puts the cause in front of an error about a missing field: setting only that field would not help.
func (s Subject) Explain(err error) error {
	incomplete, ok := errors.AsType[*cloud.Error](err)
	if !ok || incomplete.Reason != infrav1.SpecInvalidReason || s.Windows.Spec.Azure == nil {
		return err
	}
	if ref, program := s.foreign(); program == aks {
		return errors.New(s.ofAKS(ref))
	}
	for _, cause := range s.references() {
		return errors.New(cause)
	}
	for _, cause := range s.otherCloud() {
		return fmt.Errorf("%s. Otherwise: %w", cause, err)
	}
	return err
}

// server compares the vCenter of the pool with that of its Cluster.
func (s Subject) server() []string {
	object, found := s.infrastructure()
	if !found || object.Kind != "VSphereCluster" || s.Windows.Spec.VSphere == nil {
		return nil
	}
	clusterServer := read[struct{ Spec struct{ Server string } }](object).Spec.Server
	login, _, err := Login(s.Files, s.secretKey())
	poolServer := string(login["server"])
	if err != nil || clusterServer == "" || poolServer == "" || host(clusterServer) == host(poolServer) {
		return nil
	}
	return note("Secret %s has the server %q, but %s is on %q: the pool comes to another vCenter than its Cluster; write the same, "+
		"unless that is meant", s.secretKey(), host(poolServer), object, host(clusterServer))
}

// host is a server without scheme, port and path.
func host(server string) string {
	server = strings.ToLower(strings.TrimSpace(server))
	if _, rest, ok := strings.Cut(server, "://"); ok {
		server = rest
	}
	server, _, _ = strings.Cut(server, "/")
	if name, _, err := net.SplitHostPort(server); err == nil {
		return name
	}
	return server
}
