//go:build cloudbaseinit

package cloudbaseinit

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// release of cloudbase-init on PyPI, with the hash of its wheel.
type release struct{ version, sha256 string }

// The versions that are run: that of image-builder's images, and the newest. The lab plays both.
var (
	pinnedByImages = release{"1.1.4", "005a9d0cf59a37e88076efc2afae370ecea682aed2964956d88fa819e46fb25e"}
	newest         = release{"1.1.9", "ca22cd4b8c2188093378a337e60f739c13869d2f33da689f6fbb360d7fe8ccd1"}

	releases = []release{pinnedByImages, newest}

	// others may be in images that exist. Our own user data run on them, too.
	others = []release{
		{"1.1.2", "cfabee686e8d9f5a0a8f2796a2529ecabaf3f886ed7cf1dddeec1edfd969b55d"},
		{"1.1.6", "53e47b2292d6d1e57c2c9fac5fbca42862615e813a981dd6b95713f11594b5f0"},
	}
)

// dependencies are those of all releases that their code imports here, for Python 3.10 to 3.14. cryptography is imported
// by plugins only that are not run, netifaces would be compiled: driver.py stands in for it. 1.1.2 and 1.1.4 do not
// say that their cloud-config needs pytz.
var dependencies = []string{
	"babel==2.18.0", "certifi==2026.10.18", "charset-normalizer==3.5.2", "debtcollector==3.1.0", "defusedxml==0.7.1", "idna==3.20",
	"iso8601==2.1.0", "Jinja2==3.1.6", "MarkupSafe==3.0.4", "msgpack==1.2.4", "netaddr==1.3.0", "oauthlib==4.0.1",
	"oslo.config==10.4.0",
	"oslo.context==6.4.0", "oslo.i18n==6.8.0", "oslo.log==8.2.0", "oslo.serialization==5.10.0", "oslo.utils==10.1.1",
	"packaging==26.3",
	"pbr==7.1.3", "psutil==7.2.2", "pyparsing==3.3.3", "pyserial==3.5", "python-dateutil==3.0.0", "pytz==2026.6",
	"PyYAML==6.0.3", "requests==2.34.2",
	"rfc3986==2.0.0", "setuptools==84.2.1", "six==1.17.0", "stevedore==5.8.0", "typing_extensions==4.16.0", "tzdata==2026.6",
	"untangle==1.2.1", "urllib3==2.8.0", "wrapt==2.5.2",
}

// install returns the Python that has the release. It lives in the user's cache, under all that it was made of.
func install(t *testing.T, r release) string {
	t.Helper()
	cache := expect.Got(os.UserCacheDir())(t)
	python := command(t, "python3", "-c", "import sys; print(sys.version)")
	key := sha256.Sum256([]byte(python + r.sha256 + strings.Join(dependencies, " ")))
	folder := filepath.Join(cache, "capwin", "cloudbase-init", fmt.Sprintf("%s-%x", r.version, key[:6]))
	if _, err := os.Stat(folder); err != nil {
		fill(t, r, folder)
	}
	return filepath.Join(folder, "bin", "python")
}

// fill makes the folder appear whole or not at all. Whoever is second finds it there, and that is as good.
func fill(t *testing.T, r release, folder string) {
	t.Helper()
	t.Logf("installing cloudbase-init %s into %s", r.version, folder)
	expect.OK(t, os.MkdirAll(filepath.Dir(folder), 0o755))
	//nolint:usetesting // because it is renamed: that takes one file system
	part := expect.Got(os.MkdirTemp(filepath.Dir(folder), ".part-"))(t)
	defer func() { _ = os.RemoveAll(part) }()
	command(t, "python3", "-m", "venv", part)
	wanted := filepath.Join(part, "wanted.txt")
	expect.OK(t, os.WriteFile(wanted, fmt.Appendf(nil, "cloudbase-init==%s --hash=sha256:%s\n", r.version, r.sha256), 0o644))
	pip := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"}
	python := filepath.Join(part, "bin", "python")
	command(t, python, append(pip, dependencies...)...)
	command(t, python, append(pip, "--require-hashes", "-r", wanted)...)
	if err := os.Rename(part, folder); err != nil {
		if _, lost := os.Stat(folder); lost != nil {
			t.Fatal(err)
		}
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
