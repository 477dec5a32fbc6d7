package compute

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// View is a VM as ARM shows it to a client of an api-version. Its power state is in the instance view only.
func (c *Compute) View(r *world.Resource, version string, instance bool) doc.Object {
	body := doc.Clone(r.Body)
	body["id"], body["name"], body["type"] = c.World.Shown(r.ID), r.ID.Name(), VM
	if version >= etagsSince {
		body["etag"] = r.Etag()
	}
	if c.Faults.HideVMID {
		doc.Remove(body, "properties", "vmId")
	}
	m := c.machines[r.ID.Key()]
	if m != nil && m.extended {
		body["resources"] = doc.Objects(c.Parts(r.ID, Extension)...)
	}
	if m != nil && instance {
		doc.Set(body, c.InstanceView(m.r.ID), "properties", "instanceView")
	}
	return body
}

// Status is a VM in the list with statusOnly=true: who it is, and its statuses [D]. It is the only list with power states. It has
// no tags (azure-sdk-for-go #18565) [V]; whether it has vmId no source says, so it has none [I].
func (c *Compute) Status(r *world.Resource) doc.Object {
	body := doc.Object{
		"id": c.World.Shown(r.ID), "name": r.ID.Name(), "type": VM, "location": doc.Text(r.Body, "location"),
		"properties": doc.Object{"provisioningState": doc.Text(r.Body, "properties", "provisioningState")},
	}
	if c.machines[r.ID.Key()] != nil {
		doc.Set(body, doc.Object{"statuses": c.InstanceView(r.ID)["statuses"]}, "properties", "instanceView")
	}
	return body
}

// InstanceView is what a VM is doing.
func (c *Compute) InstanceView(id doc.ID) doc.Object {
	m := c.find(id)
	if m == nil {
		return doc.Object{}
	}
	view := doc.Object{"statuses": m.statuses(), "hyperVGeneration": "V2"}
	if m.power == running && m.reported && m.failure == nil {
		view["computerName"] = doc.Text(m.r.Body, "properties", "osProfile", "computerName")
		view["osName"], view["osVersion"] = "Windows Server 2022 Datacenter", "10.0.20348.4052"
		view["vmAgent"] = doc.Object{
			"vmAgentVersion": "2.7.41491.1172", "extensionHandlers": []any{},
			"statuses": doc.Objects(status("ProvisioningState/succeeded", "Ready", "GuestAgent is running and processing the "+
				"extensions.")),
		}
	}
	var disks []any
	for _, d := range m.disks() {
		disks = append(disks, doc.Object{
			"name":     doc.Text(d, "name"),
			"statuses": doc.Objects(status("ProvisioningState/succeeded", "Provisioning succeeded", "")),
		})
	}
	view["disks"] = disks
	if m.logged() {
		view["bootDiagnostics"] = doc.Object{}
	}
	return view
}

// statuses are the provisioning state, the way of the operating system while it is open, and the power state [D
// states-billing.md].
func (m *machine) statuses() []any {
	var all []any
	switch state := m.provisioning(); {
	case state == "Failed" && m.failure != nil:
		failed := status("ProvisioningState/failed/"+m.failure.Code, "Provisioning failed", m.failure.Message)
		failed["level"] = "Error"
		all = append(all, failed)
	case state == "Creating" && m.power == running:
		all = append(all, status("ProvisioningState/creating", "Creating", ""),
			status("ProvisioningState/creating/OSProvisioningInProgress", "OS Provisioning In progress",
				"OS Provisioning for VM '"+m.r.ID.Name()+"' is in progress."))
	default:
		all = append(all, status("ProvisioningState/"+strings.ToLower(state), display(state), ""))
	}
	if m.power != "" {
		all = append(all, status("PowerState/"+m.power, "VM "+m.power, ""))
	}
	return all
}

func display(state string) string {
	if state == "Succeeded" {
		return "Provisioning succeeded"
	}
	return state
}

func status(code, display, message string) doc.Object {
	s := doc.Object{"code": code, "level": "Info", "displayStatus": display}
	if message != "" {
		s["message"] = message
	}
	return s
}

// Failure is why a VM could not be made, nil if it could, for its owner.
func (c *Compute) Failure(id doc.ID) *reply.Error {
	if m := c.find(id); m != nil {
		return m.failure
	}
	return nil
}

// Power is a VM's power state, for its owner.
func (c *Compute) Power(id doc.ID) string {
	if m := c.find(id); m != nil {
		return m.power
	}
	return ""
}
