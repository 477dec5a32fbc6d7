package v1beta1

import (
	"bytes"
	"encoding/json"
)

// Reservations keep CPU, memory and disk space away from pods. Defaults depend
// on the size of the VM and its number of pods.
//
// +kubebuilder:validation:XValidation:rule="has(self.lowMemoryPolicy) || has(self.kube) && has(self.kube.memory) || !has(self.system) || !has(self.system.memory) || !isQuantity(string(self.system.memory)) || quantity(string(self.system.memory)).compareTo(quantity('1Mi')) < 0 || quantity(string(self.system.memory)).compareTo(quantity('2Gi')) >= 0",message="system.memory and kube.memory together must reserve at least 2Gi for Windows and Kubernetes; raise them, remove system.memory, or set lowMemoryPolicy: Allow",fieldPath=".system"
// +kubebuilder:validation:XValidation:rule="has(self.lowMemoryPolicy) || !has(self.kube) || !has(self.kube.memory) || !has(self.system) || !has(self.system.memory) || ![string(self.system.memory), string(self.kube.memory)].all(m, isQuantity(m) && quantity(m).compareTo(quantity('1Mi')) >= 0) || quantity(string(self.system.memory)).add(quantity(string(self.kube.memory))).compareTo(quantity('2Gi')) >= 0",message="system.memory and kube.memory together must reserve at least 2Gi for Windows and Kubernetes; raise them, remove system.memory, or set lowMemoryPolicy: Allow",fieldPath=".system"
type Reservations struct {
	// system is reserved for Windows itself. Default: 2Gi of memory; 1Gi of disk
	// space; and 500m of CPU, 1 from 8 CPUs on, 2 from 17 CPUs on.
	//
	// +optional
	System Reserved `json:"system,omitempty,omitzero"`

	// kube is reserved for kubelet and containerd. Default: 255Mi of memory plus
	// 11Mi for each of maxPods, but at most a quarter of all memory; 1Gi of disk
	// space; and 60m of CPU, or a little more on larger VMs.
	//
	// +optional
	Kube Reserved `json:"kube,omitempty,omitzero"`

	// eviction has thresholds: the kubelet evicts pods when less memory or disk
	// space than this is free. Each is an amount or a percentage of the whole.
	//
	// +optional
	Eviction Eviction `json:"eviction,omitempty,omitzero"`

	// lowMemoryPolicy: Allow accepts less than 2Gi of memory for Windows and
	// Kubernetes together, and VMs that leave pods less than 2Gi. Windows has no
	// OOM killer: a node without free memory writes to its page file until nothing
	// on it answers, so give pods memory limits. Default: both are refused.
	//
	// +optional
	LowMemoryPolicy LowMemoryPolicy `json:"lowMemoryPolicy,omitempty"`
}

// Reserved is how much of each resource is kept away from pods.
type Reserved struct {
	// cpu in cores, a number or text such as 2, "1.5" or 500m.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('768')) <= 0",message=`must be a number of cores from 0 to 768, such as 2, "1.5" or 500m`
	CPU Amount `json:"cpu,omitempty"`

	// memory, such as 3Gi or 1536Mi. A number without a unit is in bytes.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('24Ti')) <= 0",message=`must be an amount of memory from 1Mi to 24Ti, such as 3Gi or 1536Mi`
	Memory Amount `json:"memory,omitempty"`

	// ephemeralStorage is disk space, such as 10Gi. A number without a unit is in
	// bytes.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('64Ti')) <= 0",message=`must be an amount of disk space from 1Mi to 64Ti, such as 10Gi`
	EphemeralStorage Amount `json:"ephemeralStorage,omitempty"`
}

// Eviction has the thresholds below which pods are evicted: amounts or
// percentages of the whole.
type Eviction struct {
	// memoryAvailable is the least free memory, page file included, such as 1Gi or
	// 5%. Default: 500Mi.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[1-9][0-9]?%$') || (isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('24Ti')) <= 0)",message=`must be an amount from 1Mi to 24Ti or a percentage from 1% to 99%, such as 500Mi or 5%`
	MemoryAvailable Amount `json:"memoryAvailable,omitempty"`

	// nodefsAvailable is the least free space on the disk with the kubelet's
	// folder, such as 10Gi or 10%. Default: 10%.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[1-9][0-9]?%$') || (isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('64Ti')) <= 0)",message=`must be an amount from 1Mi to 64Ti or a percentage from 1% to 99%, such as 10Gi or 10%`
	NodeFSAvailable Amount `json:"nodefsAvailable,omitempty"`

	// imagefsAvailable is the least free space on the disk with containerd's
	// images, such as 20Gi or 15%. Default: 15%.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[1-9][0-9]?%$') || (isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1Mi')) >= 0 && quantity(string(self)).compareTo(quantity('64Ti')) <= 0)",message=`must be an amount from 1Mi to 64Ti or a percentage from 1% to 99%, such as 20Gi or 15%`
	ImageFSAvailable Amount `json:"imagefsAvailable,omitempty"`
}

// Amount is a quantity of Kubernetes as its user wrote it, such as 1536Mi. It
// may be a number in JSON.
type Amount string

// UnmarshalJSON takes a text, or the digits of a number.
func (a *Amount) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) || string(data) == "null" {
		return json.Unmarshal(data, (*string)(a))
	}
	var number json.Number
	err := json.Unmarshal(data, &number)
	*a = Amount(number)
	return err
}

// LowMemoryPolicy is whether Windows may have less memory than it needs.
//
// +kubebuilder:validation:Enum=Allow
type LowMemoryPolicy string

// LowMemoryAllow allows reservations that leave Windows little memory.
const LowMemoryAllow LowMemoryPolicy = "Allow"
