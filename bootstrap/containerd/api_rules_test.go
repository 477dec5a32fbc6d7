package containerd

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"images": "self.matches('" + strings.ReplaceAll(imageName.String(), `\.`, "[.]") + "')",
	})
}
