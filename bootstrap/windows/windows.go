// Package windows is spec.windows and spec.node.cloudConfigFile: settings of Windows itself and files for its programs. Each
// has a file and the same shape: readX reads it into a setting, which adds its steps.
package windows

import (
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const windowsField = "WindowsBootstrapConfig spec.windows"

// Input is what the settings depend on.
type Input struct {
	Spec     bootstrapv1.Windows
	Sources  step.Contents
	NodeName string
	// CloudConfigFile is that of spec.node.
	CloudConfigFile bootstrapv1.CloudConfigFile
	// OnAzure is where the VM is; Placement is where exactly, and VM what was asked for.
	OnAzure   bool
	Placement *infrav1.AzurePlacement
	VM        *infrav1.AzureVM
	// HyperV: containerd can run pods in virtual machines.
	HyperV bool
	// ClusterNames are the cluster's names and ranges, which are reached without a proxy.
	ClusterNames []string
}

// Windows is what was read and found good.
type Windows struct {
	settings []setting
	risks    []string
}

// setting is one part of the spec that was read. One that the spec leaves out adds nothing.
type setting interface{ addTo(p *step.Part) }

// Read refuses what Windows would not accept.
func Read(in Input) (Windows, error) {
	w := Windows{risks: slices.Concat(clockRisks(in.Spec), identityRisks(in))}
	for _, read := range []func(Input) (setting, error){
		readDataDrive, readTrust, readProxy, readClock, readFeatures, readDefender, readCSIProxy, readAzureJSON, readDomain,
		readGMSAPlugin, readAlways, readPageFile, readUsers,
	} {
		s, err := read(in)
		if err != nil {
			return Windows{}, err
		}
		w.settings = append(w.settings, s)
	}
	return w, nil
}

// Steps of all settings, in the order in which they are read.
func (w Windows) Steps() step.Part {
	var p step.Part
	for _, s := range w.settings {
		s.addTo(&p)
	}
	return p
}

// Folders from which SYSTEM runs something for a setting, or in which it writes or obeys something.
func (w Windows) Folders() []step.Folder {
	var folders []step.Folder
	for _, s := range w.settings {
		if owner, ok := s.(interface{ folders() []step.Folder }); ok {
			folders = append(folders, owner.folders()...)
		}
	}
	return folders
}

// Warnings are about settings that others replace.
func (w Windows) Warnings() []string { return w.risks }
