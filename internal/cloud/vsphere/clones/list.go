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

// concerning returns the clones that may make m's VM, or made it.
func concerning(m cloud.Machine, all []clone, by *caller) (mine []clone) {
	template := ""
	if m.Spec.VSphere != nil {
		template = m.Spec.VSphere.Image.Template
	}
	for _, one := range all {
		otherUser := one.user != "" && by.user != "" && one.user != by.user
		otherTemplate := one.template != "" && template != "" && one.source.Value != template &&
			!strings.EqualFold(one.template, path.Base(template))
		if !otherUser && !otherTemplate {
			mine = append(mine, one)
		}
	}
	return mine
}

// taskPaths are read of each recent task.
var taskPaths = []string{
	"info.descriptionId", "info.state", "info.entity", "info.entityName", "info.reason",
}

// list reads the clones among the vCenter's recent tasks: all that are queued or running, and those that have ended within ten
// minutes.
func (c *Clones) list(ctx context.Context) ([]clone, error) {
	if err := c.introduce(ctx); err != nil {
		return nil, err
	}
	return session.Do(ctx, c.session, func(ctx context.Context, client *vim25.Client) (all []clone, err error) {
		recent := session.Source{Object: *client.ServiceContent.TaskManager, Via: "recentTask"}
		tasks, err := session.Read(ctx, client, recent, "Task", taskPaths...)
		for ref, p := range tasks {
			if id, _ := p["info.descriptionId"].(string); strings.HasPrefix(id, "VirtualMachine.clone") {
				all = append(all, cloneOf(ref, p))
			}
		}
		return all, err
	})
}

func cloneOf(task types.ManagedObjectReference, p map[string]any) clone {
	one := clone{task: task, active: active(p["info.state"])}
	one.template, _ = p["info.entityName"].(string)
	one.source, _ = p["info.entity"].(types.ManagedObjectReference)
	switch reason := p["info.reason"].(type) {
	case types.TaskReasonUser:
		one.user = account(reason.UserName)
	case types.TaskReasonSystem, types.TaskReasonAlarm, types.TaskReasonSchedule:
		one.user = "-" // a user asked for each of ours
	}
	return one
}

func active(state any) bool {
	return state == types.TaskInfoStateQueued || state == types.TaskInfoStateRunning
}

// introduce asks, once, who we are.
func (c *Clones) introduce(ctx context.Context) error {
	c.mu.Lock()
	known := c.by != nil
	c.mu.Unlock()
	if known {
		return nil
	}
	by, err := session.Do(ctx, c.session, func(ctx context.Context, client *vim25.Client) (*caller, error) {
		manager := *client.ServiceContent.SessionManager
		found, err := session.Read(ctx, client, session.Source{Object: manager}, "SessionManager", "currentSession")
		if err != nil {
			return nil, err
		}
		own, _ := found[manager]["currentSession"].(types.UserSession)
		return &caller{user: account(own.UserName)}, nil
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = by
	return nil
}

// account is the name of a user without the domain, which has several names itself: DOMAIN\user, user@domain.example.
func account(user string) string {
	if _, name, found := strings.Cut(user, `\`); found {
		user = name
	}
	user, _, _ = strings.Cut(user, "@")
	return strings.ToLower(user)
}
