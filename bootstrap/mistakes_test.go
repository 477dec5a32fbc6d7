package bootstrap_test

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// mistake is one of a user. A field without the name of its object is one of a WindowsBootstrapConfig's spec.
type mistake struct {
	name, field string
	change      change
	want        string
}

// refuse renders mistakes: each is refused with its field and what to write, with no secret, and with nothing beside it.
func refuse(t *testing.T, mistakes []mistake) {
	t.Helper()
	for _, test := range mistakes {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(test.field, " ") {
				test.field = "WindowsBootstrapConfig spec." + test.field
			}
			userData, err := bootstrap.Render(plainInput(t, test.change))
			refused, ok := errors.AsType[*bootstrap.InvalidError](err)
			if !ok || refused.Field != test.field || !strings.Contains(refused.Message, test.want) {
				t.Fatalf("%v, want %s: %s", err, test.field, test.want)
			}
			checkRefusal(t, err, "")
			if len(userData.Bytes()) > 0 || userData.Plan() != nil {
				t.Error("there is user data beside the error")
			}
		})
	}
}

// spec is what a user writes below spec of a WindowsBootstrapConfig.
func spec(text string) change {
	return func(in *bootstrap.Input) {
		if err := yaml.UnmarshalStrict([]byte(text), &in.Config.Spec); err != nil {
			panic(text + ": " + err.Error())
		}
	}
}
