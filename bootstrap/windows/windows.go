// Package windows is spec.windows and spec.pageFile: Windows' own settings, each in the same shape, read by readX into a
// setting that adds its steps.
package windows

import (
	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const windowsField = "WindowsBootstrapConfig spec.windows"

// Input is what Windows' own settings are made of.
type Input struct {
	Spec     bootstrapv1.Windows
	PageFile bootstrapv1.PageFile
	Sources  step.Contents
	NodeName string
	// OnAzure is where the VM is, AzureVM its spec there.
	OnAzure bool
	AzureVM *infrav1.AzureVM
	// HyperV: containerd runs pods in virtual machines.
	HyperV bool
	// ClusterNames are the names and ranges of the cluster, which are reached without a proxy.
	ClusterNames []string
}

// Windows is spec.windows and spec.pageFile, read and found good.
type Windows struct {
	settings []setting
	risks    []string
}

// setting is one part of the spec that has been read. One that is left out adds nothing.
type setting interface{ addTo(p *step.Part) }

// Read refuses what Windows would not take.
func Read(in Input) (Windows, error) {
	w := Windows{risks: clockRisks(in.Spec)}
	for _, read := range []func(Input) (setting, error){
		readTrust, readProxy, readClock, readFeatures, readUsers, readDefender, readCSIProxy, readAzureJSON, readDomain, readGMSAPlugin,
		readAlways, readPageFile,
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

// Warnings are of settings that others change.
func (w Windows) Warnings() []string { return w.risks }
