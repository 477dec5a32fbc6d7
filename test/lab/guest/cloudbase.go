package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

const (
	cloudbaseLog = `C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init.log`
	cloudbaseKey = `HKEY_LOCAL_MACHINE\SOFTWARE\Cloudbase Solutions\Cloudbase-Init`
	// pluginDone is how cloudbase-init notes in the registry that a plugin need not run again.
	pluginDone = 1
)

// cloudbaseInit is cloudbase-init 1.1.4 as image-builder sets it up for vSphere: one metadata service, and of its plugins the
// two that matter here. Failures are lines in its log, as on a real machine: nobody is told.
func (p *power) cloudbaseInit(ctx context.Context) {
	metadata, err := p.metadata(ctx)
	if err != nil {
		p.logInit("ERROR", "Failed to load metadata service 'VMwareGuestInfoService': %v", err)
		p.logInit("ERROR", "No metadata service found")
		return
	}
	for _, plugin := range []struct {
		name string
		run  func(ctx context.Context, metadata map[string]any) error
	}{{"SetHostNamePlugin", p.setHostName}, {"UserDataPlugin", p.userData}} {
		if ctx.Err() != nil || p.machine.RebootAsked() {
			return // the rest runs after the reboot
		}
		p.plugin(ctx, plugin.name, metadata, plugin.run)
	}
}

// plugin runs once for each instance; without an instance id at every boot. One that raises is tried again at the next boot.
func (p *power) plugin(ctx context.Context, name string, metadata map[string]any, run func(context.Context, map[string]any) error) {
	key := ""
	if id := text(metadata["instance-id"]); id != "" {
		key = cloudbaseKey + `\` + id + `\Plugins`
		if done, ok, _ := p.machine.ReadRegistry(key, name); ok && done.Number == pluginDone {
			return
		}
	}
	p.logInit("INFO", "Executing plugin '%s'", name)
	if err := run(ctx, metadata); err != nil {
		p.logInit("ERROR", "plugin '%s' failed with error '%v'", name, err)
		return
	}
	if key == "" || ctx.Err() != nil {
		return
	}
	if err := p.machine.WriteRegistry(key, name, windows.DWord(pluginDone)); err != nil {
		p.logInit("ERROR", "%v", err)
	}
}

// metadata is guestinfo.metadata: YAML, of which JSON is a part.
func (p *power) metadata(ctx context.Context) (map[string]any, error) {
	data, err := p.guestData(ctx, "metadata")
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, errors.New("'NoneType' object has no attribute 'read'") // 1.1.4 goes no further
	}
	var metadata map[string]any
	if err := yaml.Unmarshal(data, &metadata); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if metadata == nil {
		return nil, errors.New("the metadata are empty")
	}
	return metadata, nil
}

// setHostName renames the computer, which needs a reboot, if it has another name.
func (p *power) setHostName(_ context.Context, metadata map[string]any) error {
	wanted := text(metadata["local-hostname"])
	if wanted == "" {
		p.logInit("DEBUG", "Hostname not found in metadata")
		return nil
	}
	name := netBIOSName(wanted)
	if name != wanted {
		p.logInit("WARNING", "Truncating host name for Netbios compatibility. Old name: %s, new name: %s", wanted, name)
	}
	if strings.EqualFold(p.machine.ComputerName(), name) {
		return nil
	}
	p.logInit("INFO", "Setting hostname: %s", name)
	if err := p.machine.Setup(func(s *windows.State) { s.ComputerName = strings.ToUpper(name) }); err != nil {
		return err
	}
	p.machine.AskReboot()
	return nil
}

// netBIOSName cuts at the first dot and at 15 characters; a hyphen may not be the last.
func netBIOSName(name string) string {
	name, _, _ = strings.Cut(name, ".")
	if len(name) > 15 {
		name = name[:15]
	}
	if cut, found := strings.CutSuffix(name, "-"); found {
		return cut + "0"
	}
	return name
}

func (p *power) logInit(level, format string, args ...any) {
	stamp := p.machine.Clock.Now().UTC().Format(time.DateTime)
	line := fmt.Sprintf("%s 1234 %s cloudbaseinit %s\r\n", stamp, level, fmt.Sprintf(format, args...))
	_ = p.machine.Append(cloudbaseLog, []byte(line)) // a log
}

// text is a value of the metadata as Python would print it.
func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
