package tenants

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestLimits(t *testing.T) {
	limits := expect.Got(Parse([]string{"team:accounts=64,clusters=500", "other:clusters=1"}))(t)
	for _, test := range []struct {
		namespace string
		kind      Kind
		want      int
	}{
		{"team", Accounts, 64}, {"team", Clusters, 500}, {"other", Accounts, 16}, {"other", Clusters, 1}, {"any", Clusters, 64},
	} {
		expect.Same(t, string(test.kind)+" of "+test.namespace, test.want, limits.Allowed(test.namespace, test.kind))
	}
	expect.Same(t, "where nothing is lifted", 64, Limits(nil).Allowed("any", Clusters))
}

func TestParseRefuses(t *testing.T) {
	const namespace = "does not begin with the name of a namespace and a colon; write it as team:accounts=64"
	for entry, want := range map[string]string{
		"": namespace, "team": namespace, "accounts=3": namespace, "*:accounts=3": namespace, "Team:accounts=3": namespace,
		"team:":                      `"" is not counted; use one of [accounts clusters groups guests identities locations]`,
		"team:vms=3":                 `"vms" is not counted`,
		"team:accounts":              "accounts= is not a number from 1 to 10000",
		"team:accounts=0":            "accounts=0 is not a number from 1 to 10000",
		"team:accounts=-1":           "accounts=-1 is not a number",
		"team:accounts=10001":        "accounts=10001 is not a number",
		"team:accounts=3,accounts=4": "accounts of namespace team is there twice",
	} {
		_, err := Parse([]string{entry})
		expect.Says(t, entry, err, want)
	}
	_, err := Parse([]string{"team:accounts=3", "team:accounts=3"})
	expect.Says(t, "two entries", err, "is there twice")
}
