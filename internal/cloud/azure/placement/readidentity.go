package placement

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// IdentityOf names the AzureClusterIdentity of an AzureCluster; the zero value if it has none. One without a namespace is in the
// AzureCluster's.
func IdentityOf(azureCluster *unstructured.Unstructured) (types.NamespacedName, error) {
	if azureCluster == nil {
		return types.NamespacedName{}, nil
	}
	r := reader{object: azureCluster.Object}
	kind, name := r.text("spec", "identityRef", "kind"), r.text("spec", "identityRef", "name")
	namespace := cmp.Or(r.text("spec", "identityRef", "namespace"), azureCluster.GetNamespace())
	switch {
	case r.wrong == "" && kind == "" && name == "":
		return types.NamespacedName{}, nil
	case r.wrong != "" || kind != "AzureClusterIdentity" || validation.NameIsDNSSubdomain(name, false) != nil ||
		validation.ValidateNamespaceName(namespace, false) != nil:
		return types.NamespacedName{}, refuse("spec.identityRef of AzureCluster %s/%s names no AzureClusterIdentity: set kind and name",
			azureCluster.GetNamespace(), azureCluster.GetName())
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// ReadIdentity reads an AzureClusterIdentity.
func ReadIdentity(object *unstructured.Unstructured) (Identity, error) {
	r := reader{object: object.Object}
	i := Identity{
		Namespace: object.GetNamespace(), Name: object.GetName(),
		Type: r.text("spec", "type"), ClientID: r.text("spec", "clientID"), TenantID: r.text("spec", "tenantID"),
		SecretNamespace: r.text("spec", "clientSecret", "namespace"), SecretName: r.text("spec", "clientSecret", "name"),
		CertPath: r.text("spec", "certPath"), CredsPath: r.text("spec", "userAssignedIdentityCredentialsPath"),
		Allowed:      r.allowed("spec", "allowedNamespaces"),
		BeingDeleted: object.GetDeletionTimestamp() != nil,
	}
	if r.wrong != "" {
		return Identity{}, deny(infrav1.CredentialsRejectedReason,
			"AzureClusterIdentity %s/%s has a value of another type than v1beta1 in %s: "+
				"correct it", i.Namespace, i.Name, r.wrong)
	}
	return i, nil
}

func (r *reader) allowed(fields ...string) *Allowed {
	object, found, err := unstructured.NestedMap(r.object, fields...)
	r.check(err, fields)
	if !found { // or of another type
		return nil
	}
	read := &Allowed{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, read); err != nil {
		r.check(err, fields)
		return nil
	}
	return read
}
