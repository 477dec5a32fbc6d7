package windows

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Facts are what WMI tells about the machine, by the names of the plan.
func (m *Machine) Facts() (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Get-CimInstance"); err != nil {
		return nil, err
	}
	ubr, _ := m.state.value(VersionKey, "UBR")
	facts := map[string]string{
		plan.FactOSBuild: m.Hardware.OSBuild, plan.FactOSUBR: "",
		plan.FactMemoryMiB: strconv.FormatInt(m.Hardware.MemoryMiB, 10), plan.FactCPUs: strconv.Itoa(m.Hardware.CPUs),
		plan.FactDiskFreeMiB:  strconv.FormatInt(m.Hardware.DiskFreeMiB, 10),
		plan.FactComputerName: m.state.ComputerName, plan.FactSMBIOS: m.Hardware.SMBIOS,
	}
	if ubr.Type != "" {
		facts[plan.FactOSUBR] = ubr.String()
	}
	return facts, nil
}

// ComputerName is the NetBIOS name.
func (m *Machine) ComputerName() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.ComputerName
}

// FirewallRule is an inbound rule that allows.
type FirewallRule struct {
	Name, Protocol string
	Ports, Remote  []string
	Description    string
}

// FirewallDescription is the description of an enabled rule, or "".
func (m *Machine) FirewallDescription(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Firewall[name], m.enter("Get-NetFirewallRule")
}

// RemoveFirewallRule removes a rule.
func (m *Machine) RemoveFirewallRule(name string) error {
	return m.through("Remove-NetFirewallRule", func() error {
		delete(m.state.Firewall, name)
		return m.changed("firewall.remove %s", name)
	})
}

// AddFirewallRule adds a rule.
func (m *Machine) AddFirewallRule(rule FirewallRule) error {
	return m.through("New-NetFirewallRule", func() error {
		m.state.Firewall[rule.Name] = rule.Description
		ports, remote := strings.Join(rule.Ports, ","), strings.Join(rule.Remote, ",")
		return m.changed("firewall.add %s Inbound Allow %s %s %s", rule.Name, rule.Protocol, ports, remote)
	})
}

// FeatureFaults say how the installation of Windows features goes wrong.
type FeatureFaults struct{ NeedsReboot, NeverDone, Fails bool }

// Features gives the install state of those of names that exist.
func (m *Machine) Features(names []string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]string{}
	for _, name := range names {
		if state, ok := m.state.Features[name]; ok {
			found[name] = state
		}
	}
	return found, m.enter("Get-WindowsFeature")
}

// InstallFeatures says whether it went well and whether Windows must be started again.
func (m *Machine) InstallFeatures(names []string) (success, reboot bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Install-WindowsFeature"); err != nil {
		return false, false, err
	}
	for _, name := range names {
		m.state.Features[name] = "Installed"
		if m.FeatureFaults.NeedsReboot {
			m.state.Features[name] = "InstallPending"
		}
	}
	err = m.changed("feature.install %s", strings.Join(names, ","))
	return !m.FeatureFaults.Fails, m.FeatureFaults.NeedsReboot, err
}

// User is a local account.
type User struct {
	SID    string   `json:"sid"`
	Groups []string `json:"groups"`
}

// LocalUser is the SID of a local account, or "".
func (m *Machine) LocalUser(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Get-LocalUser"); err != nil {
		return "", err
	}
	if user := m.state.Users[name]; user != nil {
		return user.SID, nil
	}
	return "", nil
}

// never is how PowerShell shows that neither password nor account expire.
const never = "True"

// AddLocalUser makes an account whose password does not expire, and gives its SID.
func (m *Machine) AddLocalUser(name, password string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("New-LocalUser"); err != nil {
		return "", err
	}
	user := &User{SID: "S-1-5-21-1-2-3-" + strconv.Itoa(1001+len(m.state.Users))}
	m.state.Users[name] = user
	return user.SID, m.changed("user.add %s password=%d %s %s", name, len(password), never, never)
}

// AddGroupMember makes a user a member of a group, unless it is one.
func (m *Machine) AddGroupMember(sid, name string) error {
	return m.through("Add-LocalGroupMember", func() error {
		user := m.state.Users[name]
		if user == nil {
			return fmt.Errorf("principal %s was not found", name)
		}
		if slices.Contains(user.Groups, sid) {
			return nil
		}
		user.Groups = append(user.Groups, sid)
		return m.changed("group.add %s %s", sid, name)
	})
}

// UserProfile is the profile folder of a user; Windows makes it if there is none.
func (m *Machine) UserProfile(sid, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := VersionKey + `\ProfileList\` + sid
	if err := m.enter("Read-Registry"); err != nil {
		return "", err
	}
	if path, ok := m.state.value(key, "ProfileImagePath"); ok {
		return path.Text, nil
	}
	if err := m.enter("Add-UserProfile"); err != nil {
		return "", err
	}
	m.state.SetValue(key, "ProfileImagePath", Text(`C:\Users\`+name))
	return `C:\Users\` + name, m.changed("profile.add %s", name)
}

// Defender is Microsoft Defender's exclusions.
type Defender struct {
	Paths     []string `json:"paths"`
	Processes []string `json:"processes"`
}

// DefenderExclusions fails where there is no Defender.
func (m *Machine) DefenderExclusions() (Defender, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Get-MpPreference"); err != nil {
		return Defender{}, err
	}
	if m.state.Defender == nil {
		return Defender{}, errors.New("the term 'Get-MpPreference' is not recognized as the name of a cmdlet")
	}
	return *m.state.Defender, nil
}

// ExcludeFromDefender adds exclusions.
func (m *Machine) ExcludeFromDefender(paths, processes []string) error {
	return m.through("Add-MpPreference", func() error {
		for _, path := range paths {
			m.state.Defender.Paths = append(m.state.Defender.Paths, path)
			if err := m.changed("defender.path %s", path); err != nil {
				return err
			}
		}
		for _, process := range processes {
			m.state.Defender.Processes = append(m.state.Defender.Processes, process)
			if err := m.changed("defender.process %s", process); err != nil {
				return err
			}
		}
		return nil
	})
}

// EnableTask registers a scheduled task that starts with the machine.
func (m *Machine) EnableTask(name string) error {
	return m.through("Register-ScheduledTask", func() error {
		m.state.Tasks[name] = true
		return m.changed("task.enable %s", name)
	})
}

// DisableTask keeps the task from starting again.
func (m *Machine) DisableTask(name string) error {
	return m.through("Disable-ScheduledTask", func() error {
		m.state.Tasks[name] = false
		return m.changed("task.disable %s", name)
	})
}

// TaskEnabled says whether a task starts with the machine.
func (m *Machine) TaskEnabled(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Tasks[name]
}
