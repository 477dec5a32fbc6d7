package bootstrap_test

import (
	"errors"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// Whatever a user writes is refused with a sentence, or makes a plan that is valid and arrives as it is: a plan that we
// refuse ourselves would be a rule that the user was not told.
func FuzzSettings(f *testing.F) {
	f.Add(`C:\etc\a.conf`, "text", "agent", "http://u:p@proxy:1", ".a", "UTC", "ops", "docker.io", "https://m/v2/a", "a.b/c:1", "corp.a")
	f.Add(`C:\a\`, "'@\n$(calc)", "-", "http://[::1", "a,b", "UTC+1", "a.", "_default", "http://m'", "a.b/c:1'", "..")
	f.Add("C:\\a\u2028", "\x00\xff", "a\n", "https://%", "::/0", "Standard Time", "con", "a:1:2", "https://a:99999999/", "a/b", "a..b")
	f.Add(`C:\a`, clusterInfo("https://a", firstCA), "a", "http://p:1", "b", "UTC", "ops", "a.b", "https://[fd00::1]:6443", "a.b/c", "a.b")
	f.Fuzz(func(t *testing.T, path, text, name, proxy, near, zone, user, host, mirror, image, domain string) {
		for i, change := range []func(*bootstrap.Input){
			func(in *bootstrap.Input) {
				withFile(bootstrapv1.CustomFile{Path: path, Content: text})(in)
				withPreJoin(bootstrapv1.CustomScript{Name: name, Content: text})(in)
			},
			ofWindows(func(w *bootstrapv1.Windows) {
				w.Proxy = bootstrapv1.Proxy{HTTPS: proxy, NoProxy: []string{near}}
				w.TimeZone, w.NTPServers, w.Features = zone, []string{near}, []string{name}
			}),
			ofWindows(func(w *bootstrapv1.Windows) {
				w.Users = []bootstrapv1.LocalUser{{Name: user, SSHKeys: []string{publicKey}}}
				w.DefenderExclusions = bootstrapv1.DefenderExclusions{Folders: []string{path}, Processes: []string{name + ".exe"}}
				w.CSIProxy.Path = path + ".exe"
			}),
			containerd(func(c *bootstrapv1.Containerd) {
				c.Registries = []bootstrapv1.Registry{{Host: host, Mirrors: []bootstrapv1.RegistryMirror{{URL: mirror}}}}
				c.PauseImage, c.PrepullImages = image, []string{image}
				c.DropIns = []bootstrapv1.ContainerdDropIn{{Name: name, Content: text}}
			}),
			discoveredBy(text),
			discoveredBy(clusterInfo(mirror, firstCA)),
			func(in *bootstrap.Input) {
				withGMSAPlugin(in)
				withDomainJoin(in)
				in.Config.Spec.Windows.Domain.Name = domain
				source(in, "secret/joiner/password", text)
			},
		} {
			userData, err := bootstrap.Render(plainInput(t, change))
			if err != nil {
				if _, ok := errors.AsType[*bootstrap.InvalidError](err); !ok {
					t.Fatalf("%d: not a word for the user: %v", i, err)
				}
				continue
			}
			checkUserData(t, userData.Bytes())
			data, err := scripts.Plan(userData.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := plan.Decode(data); err != nil {
				t.Fatal(err)
			}
		}
	})
}
