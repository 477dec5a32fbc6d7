package inspect

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestVersion: what this release was not made for is told, and what is no vCenter is refused.
func TestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		about  func(*types.AboutInfo)
		result Result
		says   string
	}{
		"least":  {func(a *types.AboutInfo) { a.Version = "7.0.0" }, OK, "vCenter 7.0.0"},
		"odd":    {func(a *types.AboutInfo) { a.Version = "x" }, Warning, "vCenter x is older than 7.0"},
		"old":    {func(a *types.AboutInfo) { a.Version = "6.7.0" }, Warning, "vCenter 6.7.0 is older than 7.0"},
		"new":    {func(a *types.AboutInfo) { a.Version = "10.0.0" }, OK, "vCenter 10.0.0"},
		"a host": {func(a *types.AboutInfo) { a.ApiType = "HostAgent" }, Failed, "an ESXi host, not a vCenter"},
	} {
		about := types.AboutInfo{ApiType: "VirtualCenter", Version: "8.0.3"}
		c.about(&about)
		if result, says := version(about); result != c.result || !strings.Contains(says, c.says) {
			t.Errorf("%s: %s %q", name, result, says)
		}
	}
}

// TestTold: an error is told without what its controllers do and without the server, and its innermost cause without the rest.
func TestTold(t *testing.T) {
	r := &inspection{address: "vc.example"}
	known := cloud.Errorf(cloud.Transient, "", "no answer; the controller tries again (vCenter vc.example)")
	for _, c := range []struct {
		err         error
		told, cause string
	}{
		{errors.New("plain"), "plain", "plain"},
		{known, "no answer", known.Message},
		{errors.Join(known), "no answer", known.Message},
		{&cloud.Error{Message: "no answer", Err: errors.New("no route")}, "no answer", "no route"},
		{&url.Error{Op: "Post", URL: "https://vc", Err: errors.New("refused")}, `Post "https://vc": refused`, "refused"},
		{&cloud.Error{Message: "; the controller tries again"}, "no reason is known", "; the controller tries again"},
		{errors.New(strings.Repeat("x", 300)), strings.Repeat("x", 300), strings.Repeat("x", 253) + "..."},
	} {
		expect.Same(t, "told", c.told, r.messageOf(c.err))
		expect.Same(t, "cause", c.cause, cause(c.err))
	}
	expect.Same(t, "a name", 128, len(shown(strings.Repeat("x", 200))))
	if !refused(cloud.Errorf(cloud.Denied, "", "no")) || refused(known) || refused(errors.New("no")) {
		t.Error("an account is refused by an error of the kind Denied alone")
	}
}
