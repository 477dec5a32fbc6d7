package clones

import (
	"context"
	"path"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// clone is a task that clones a VM.
type clone struct {
	task     types.ManagedObjectReference
	active   bool
	user     string
	template string // the name that it had when the task was queued
	source   types.ManagedObjectReference
}

// concerning returns the clones that may make m's VM, or made it. user is our own.
func concerning(m cloud.Machine, clones []clone, user string) (candidates []clone) {
	template := m.Spec.VSphere.Image.Template
	for _, candidate := range clones {
		otherUser := candidate.user != "" && user != "" && candidate.user != user
		otherTemplate := candidate.template != "" && template != "" && candidate.source.Value != template &&
			!strings.EqualFold(candidate.template, path.Base(template))
		if !otherUser && !otherTemplate {
			candidates = append(candidates, candidate)
		}
	}
	return candidates
}

// taskPaths are read of each recent task.
var taskPaths = []string{
	"info.descriptionId", "info.state", "info.entity", "info.entityName", "info.reason",
}

// list reads the clones among the vCenter's recent tasks: all that are queued or running, and those that have ended within ten
// minutes.
func (c *Clones) list(ctx context.Context) ([]clone, error) {
	return session.Do(ctx, c.session, func(ctx context.Context, client *vim25.Client) (clones []clone, err error) {
		recent := session.Source{Object: *client.ServiceContent.TaskManager, Via: "recentTask"}
		tasks, err := session.Read(ctx, client, recent, "Task", taskPaths...)
		for ref, p := range tasks {
			if id, _ := p["info.descriptionId"].(string); strings.HasPrefix(id, "VirtualMachine.clone") {
				clones = append(clones, cloneOf(ref, p))
			}
		}
		return clones, err
	})
}

func cloneOf(task types.ManagedObjectReference, p map[string]any) clone {
	result := clone{task: task, active: active(p["info.state"])}
	result.template, _ = p["info.entityName"].(string)
	result.source, _ = p["info.entity"].(types.ManagedObjectReference)
	switch reason := p["info.reason"].(type) {
	case types.TaskReasonUser:
		result.user = account(reason.UserName)
	case types.TaskReasonSystem, types.TaskReasonAlarm, types.TaskReasonSchedule:
		result.user = "-" // each of ours was started by a user
	}
	return result
}

func active(state any) bool {
	return state == types.TaskInfoStateQueued || state == types.TaskInfoStateRunning
}

// account is the name of a user without the domain, which has several names itself: DOMAIN\user, user@domain.example.
func account(user string) string {
	if _, name, found := strings.Cut(user, `\`); found {
		user = name
	}
	user, _, _ = strings.Cut(user, "@")
	return strings.ToLower(user)
}
