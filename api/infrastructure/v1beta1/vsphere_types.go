package v1beta1

// VSphereVM is a VM cloned from a template in a vCenter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.memoryMiB) || self.memoryMiB % 4 == 0",message="memoryMiB must be a multiple of 4: vSphere takes no other sizes",fieldPath=".memoryMiB"
type VSphereVM struct {
	// credentialsRef names the Secret in the machine's namespace that says which vCenter this is and how to log in.
	// Its keys: server (host or host:port), username, password, and either ca.crt (PEM) or thumbprint (SHA-256).
	// The server is part of the Secret, so that a machine can never send the password elsewhere.
	//
	// +required
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`

	// datacenter by name or inventory path.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Datacenter string `json:"datacenter,omitempty"`

	// template to clone, by name or inventory path. It is a Windows image as image-builder makes it: cloudbase-init,
	// containerd and the Kubernetes programs are in it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`

	// folder the VM is put in, by name or inventory path; empty means the datacenter's own VM folder.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Folder string `json:"folder,omitempty"`

	// resourcePool the VM runs in, by name or inventory path; empty means the only one that the datacenter has.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ResourcePool string `json:"resourcePool,omitempty"`

	// datastore for the disks, by name or inventory path; empty means the template's.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Datastore string `json:"datastore,omitempty"`

	// network the VM's adapter is on, by name or inventory path; empty means the template's.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Network string `json:"network,omitempty"`

	// cpus of the VM; empty means the template's.
	//
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=768
	CPUs int32 `json:"cpus,omitempty"`

	// memoryMiB of the VM, 4096 or more because Windows and the kubelet keep about 3 GiB for themselves; empty means the
	// template's.
	//
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=25165824
	MemoryMiB int32 `json:"memoryMiB,omitempty"`
}

// SecretReference names a Secret in the namespace of the object that refers to it.
type SecretReference struct {
	// name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
