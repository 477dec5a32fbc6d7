package windows

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Facts are what WMI tells about the machine, by the names of the plan.
func (m *Machine) Facts() (map[string]string, error) {
	return ask(m, "Get-CimInstance", func() (map[string]string, error) {
		if err := m.enter("Read-Registry"); err != nil {
			return nil, err // WMI does not know the number of the update
		}
		ubr, _ := m.state.value(VersionKey, "UBR") // "" where there is none
		return map[string]string{
			plan.FactOSBuild: m.Hardware.OSBuild, plan.FactOSUBR: ubr.String(),
			plan.FactMemoryMiB: strconv.FormatInt(m.Hardware.MemoryMiB, 10), plan.FactCPUs: strconv.Itoa(m.Hardware.CPUs),
			plan.FactDiskFreeMiB:  strconv.FormatInt(m.Hardware.DiskFreeMiB, 10),
			plan.FactComputerName: m.state.ComputerName, plan.FactSMBIOS: m.Hardware.SMBIOS,
		}, nil
	})
}

// ComputerName is the NetBIOS name.
func (m *Machine) ComputerName() string {
	return held(m, func() string { return m.state.ComputerName })
}

// Admits says whether the firewall lets connections to a port in from elsewhere.
func (m *Machine) Admits(port uint16) bool {
	return held(m, func() bool {
		for _, rule := range m.state.Firewall {
			words := strings.Fields(rule) // such as capwin TCP 10250 from Any
			if len(words) > 2 && words[1] == "TCP" && portIn(words[2], port) {
				return true
			}
		}
		return m.state.FirewallOff
	})
}

// portIn looks into a list of ports and ranges.
func portIn(list string, port uint16) bool {
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16)
		last, failed := strconv.ParseUint(high, 10, 16)
		if err == nil && failed == nil && uint64(port) >= first && uint64(port) <= last {
			return true
		}
	}
	return false
}

// FirewallOn tells whether rules are asked at all.
func (m *Machine) FirewallOn() bool { return held(m, func() bool { return !m.state.FirewallOff }) }

// FeatureFaults say how the installation of Windows features goes wrong.
type FeatureFaults struct{ NeedsReboot, NeverDone, Fails bool }

// Features gives the install state of those of names that exist, by the names that Windows has for them.
func (m *Machine) Features(names []string) (map[string]string, error) {
	return ask(m, "Get-WindowsFeature", func() (map[string]string, error) {
		found := map[string]string{}
		for _, wanted := range names {
			if name, state, ok := Named(m.state.Features, wanted); ok {
				found[name] = state
			}
		}
		return found, nil
	})
}

// Named looks up what Windows calls by a name, in whatever case somebody wrote it.
func Named[V any](all map[string]V, wanted string) (name string, found V, ok bool) {
	for name, one := range all {
		if Same(name, wanted) {
			return name, one, true
		}
	}
	return wanted, found, false
}

// InstallFeatures says whether it went well and whether Windows must be started again.
func (m *Machine) InstallFeatures(names []string) (success, reboot bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Install-WindowsFeature"); err != nil {
		return false, false, err
	}
	if _, due := m.state.key(restartDue); due {
		return false, false, errors.New("the server requires a restart before features can be installed")
	}
	for i, name := range names {
		known, _, ok := Named(m.state.Features, name)
		if !ok {
			return false, false, fmt.Errorf("the target of the specified cmdlet cannot be the role, role service or feature %s", name)
		}
		names[i] = known
	}
	for _, name := range names {
		switch {
		case m.FeatureFaults.Fails:
		case m.FeatureFaults.NeedsReboot:
			m.state.Features[name] = "InstallPending"
		default:
			m.state.Features[name] = "Installed"
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
	return ask(m, "Get-LocalUser", func() (string, error) {
		_, user, _ := Named(m.state.Users, name)
		return cmp.Or(user, &User{}).SID, nil
	})
}

// longestUser is what names of local users may have.
const longestUser = 20

// never is how PowerShell shows that neither password nor account expire.
const never = "True"

// AddLocalUser makes an account whose password does not expire, and gives its SID.
func (m *Machine) AddLocalUser(name, password string) (string, error) {
	return ask(m, "New-LocalUser", func() (string, error) {
		if _, _, there := Named(m.state.Users, name); there {
			return "", fmt.Errorf("user %s already exists", name)
		}
		if len(name) > longestUser {
			return "", fmt.Errorf("the name %s is longer than %d characters", name, longestUser)
		}
		user := &User{SID: "S-1-5-21-1-2-3-" + strconv.Itoa(1001+len(m.state.Users))}
		m.state.Users[name] = user
		return user.SID, m.changed("user.add %s password=%d %s %s", name, len(password), never, never)
	})
}

// ErrMemberExists is told of who is a member already.
var ErrMemberExists = errors.New("MemberExists")

// builtIn are the SIDs of groups that every Windows Server has: Administrators, Users, ...
var builtIn = regexp.MustCompile(`^S-1-5-32-5[4-8]\d$`)

// AddGroupMember makes a user a member of a built-in group.
func (m *Machine) AddGroupMember(sid, name string) error {
	return m.through("Add-LocalGroupMember", func() error {
		_, user, ok := Named(m.state.Users, name)
		if !ok {
			return fmt.Errorf("principal %s was not found", name)
		}
		if !builtIn.MatchString(sid) {
			return fmt.Errorf("group %s was not found", sid)
		}
		if slices.Contains(user.Groups, sid) {
			return fmt.Errorf("%s is a member of %s: %w", name, sid, ErrMemberExists)
		}
		user.Groups = append(user.Groups, sid)
		return m.changed("group.add %s %s", sid, name)
	})
}

// UserProfile is the profile folder of a user; Windows makes it if there is none.
func (m *Machine) UserProfile(sid, name string) (string, error) {
	key := VersionKey + `\ProfileList\` + sid
	if path, ok, err := m.ReadRegistry(key, "ProfileImagePath"); ok || err != nil {
		return path.Text, err
	}
	return ask(m, "Add-UserProfile", func() (string, error) {
		m.state.SetValue(key, "ProfileImagePath", Text(`C:\Users\`+name))
		return `C:\Users\` + name, m.changed("profile.add %s", name)
	})
}

// Defender is Microsoft Defender's exclusions.
type Defender struct {
	Paths     []string `json:"paths"`
	Processes []string `json:"processes"`
}

// DefenderExclusions fails where there is no Defender.
func (m *Machine) DefenderExclusions() (Defender, error) {
	return ask(m, "Get-MpPreference", func() (Defender, error) {
		if m.state.Defender == nil {
			return Defender{}, errors.New("the term 'Get-MpPreference' is not recognized as the name of a cmdlet")
		}
		return *m.state.Defender, nil
	})
}

// ExcludeFromDefender adds exclusions.
func (m *Machine) ExcludeFromDefender(paths, processes []string) error {
	return m.through("Add-MpPreference", func() error {
		defender := m.state.Defender
		return errors.Join(
			m.exclude("path", &defender.Paths, paths), m.exclude("process", &defender.Processes, processes))
	})
}

func (m *Machine) exclude(what string, into *[]string, names []string) error {
	for _, name := range names {
		*into = append(*into, name)
		if err := m.changed("defender.%s %s", what, name); err != nil {
			return err
		}
	}
	return nil
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
		if _, there := m.state.Tasks[name]; !there {
			return errors.New("the system cannot find the file specified: the task " + name)
		}
		m.state.Tasks[name] = false
		return m.changed("task.disable %s", name)
	})
}

// TaskEnabled says whether a task starts with the machine.
func (m *Machine) TaskEnabled(name string) bool {
	return held(m, func() bool { return m.state.Tasks[name] })
}
