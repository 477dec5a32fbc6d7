package guest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	cloudbaseLog = `C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init.log`
	cloudbaseKey = `HKEY_LOCAL_MACHINE\SOFTWARE\Cloudbase Solutions\Cloudbase-Init`
	// pluginDone is how cloudbase-init notes in the registry that a plugin need not run again.
	pluginDone = 1
	// imageCloudbase is the version of image-builder's images. The other one that is played is the newest.
	imageCloudbase = "1.1.4"
)

// instance is what cloudbase-init's metadata service has read.
type instance struct {
	metadata map[string]any
	userData []byte
	// packed says that the service hands over packed user data as they are.
	packed bool
}

// cloudbaseInit is cloudbase-init as image-builder sets it up: one metadata service, and of its plugins the two that matter here.
// Failures are lines in its log and, in Azure, what its host hears.
func (p *power) cloudbaseInit(ctx context.Context) {
	p.logInit("INFO", "Cloudbase-Init version: %s", p.guest.cloudbase())
	host, inAzure := p.vm.(AzureHost)
	service, load := "VMwareGuestInfoService", p.guestInfoService
	if inAzure {
		service, load = "AzureService", func(context.Context) (*instance, error) { return p.azureService(host) }
	}
	found, err := load(ctx)
	if err != nil {
		p.logInit("ERROR", "Failed to load metadata service '%s': %v", service, err)
		p.logInit("ERROR", "No metadata service found")
		p.logInit("INFO", "Plugins execution done")
		return
	}
	done, fine := p.plugins(ctx, found)
	if inAzure && !fine {
		p.logInit("INFO", "Reporting provisioning failed")
		host.Health(false, "Provisioning failed")
	}
	if !done {
		return
	}
	p.logInit("INFO", "Plugins execution done")
	if inAzure && fine {
		p.logInit("INFO", "Reporting provisioning completed")
		host.Health(true, "")
	}
}

// plugins says whether all of them had their turn, and whether none of them failed.
func (p *power) plugins(ctx context.Context, found *instance) (done, fine bool) {
	key, err := p.marks(found.metadata["instance-id"])
	if err != nil {
		p.logInit("CRITICAL", "Unhandled error: %v", err)
		return false, true
	}
	fine = true
	for _, plugin := range []struct {
		name string
		run  func(ctx context.Context, found *instance) error
	}{{"SetHostNamePlugin", p.setHostName}, {"UserDataPlugin", p.userData}} {
		if p.done(key, plugin.name) {
			continue
		}
		p.logInit("INFO", "Executing plugin '%s'", plugin.name)
		err := plugin.run(ctx, found)
		if ctx.Err() != nil {
			return false, fine // the power is gone
		}
		switch {
		case errors.Is(err, errAgain): // it wants to be run again
		case err != nil: // it is tried again at the next boot
			p.logInit("ERROR", "plugin '%s' failed with error '%v'", plugin.name, err)
			fine = false
		case key != "":
			p.mark(key, plugin.name)
		}
		if p.machine.RebootAsked() {
			return false, fine // the rest runs after the reboot
		}
	}
	return true, fine
}

// marks is the key that remembers which plugins are done for this instance. Without an id nothing is remembered; an empty
// one is an id, and one that is not text ends 1.1.4.
func (p *power) marks(id any) (string, error) {
	if id == nil {
		return "", nil
	}
	if isFalse(id) {
		return cloudbaseKey + `\Plugins`, nil
	}
	if _, ok := id.(string); !ok && p.guest.cloudbase() == imageCloudbase {
		return "", fmt.Errorf("unsupported operand types for +: %T and 'str'", id)
	}
	return fmt.Sprintf(`%s\%v\Plugins`, cloudbaseKey, id), nil
}

func (p *power) done(key, plugin string) bool {
	if key == "" {
		return false
	}
	mark, ok, _ := p.machine.ReadRegistry(key, plugin) // a key that can not be read has no marks
	return ok && mark.Number == pluginDone
}

func (p *power) mark(key, plugin string) {
	if err := p.machine.WriteRegistry(key, plugin, windows.DWord(pluginDone)); err != nil {
		p.logInit("ERROR", "%v", err)
	}
}

// setHostName renames the computer, which needs a reboot, if it has another name.
func (p *power) setHostName(_ context.Context, found *instance) error {
	value := found.metadata["local-hostname"]
	if isFalse(value) {
		p.logInit("DEBUG", "Hostname not found in metadata")
		return nil
	}
	wanted, ok := value.(string)
	if !ok {
		return fmt.Errorf("%T object has no attribute 'split'", value)
	}
	name := netBIOSName(wanted)
	if first, _, _ := strings.Cut(wanted, "."); len(name) < len(first) {
		p.logInit("WARNING", "Truncating host name for Netbios compatibility. Old name: %s, new name: %s", first, name)
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

// isFalse is what Python takes for false.
func isFalse(value any) bool {
	return value == nil || slices.Contains([]any{"", 0.0, false}, value)
}
