package containerd

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"images": apirules.Matches(imageName), "registries": apirules.Matches(registryHost), "mirrors": apirules.Matches(mirrorURL),
	})
}
