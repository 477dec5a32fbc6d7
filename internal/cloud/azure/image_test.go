package azure

import (
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestLatestIsResolved has Azure choose the version of an image. The list that all machines share tells which one it took, also a
// process that did not ask for the VM, and also after a newer version has come.
func TestLatestIsResolved(t *testing.T) {
	for name, c := range map[string]struct {
		image infrav1.AzureImage
		want  string
	}{
		"gallery":   {infrav1.AzureImage{ID: armsim.GalleryImage}, "1.36.3"},
		"a version": {infrav1.AzureImage{ID: armsim.GalleryImage + "/versions/1.36.2"}, "1.36.2"},
		"marketplace": {infrav1.AzureImage{Marketplace: infrav1.AzureMarketplaceImage{
			Publisher: "MicrosoftWindowsServer", Offer: "WindowsServer", SKU: "2022-datacenter-azure-edition", Version: "latest",
		}}, "20348.4171.251003"},
		"no versions": {infrav1.AzureImage{ID: armsim.ManagedImage}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			m.Spec.Azure.Image = c.image
			first := s.watched()
			s.run(first, m)
			expect.Same(t, "version", c.want, imageOf(t, first, m))
			s.Change(func(in *armsim.Inside) { in.Compute.AddVersion(armsim.GalleryImage, "1.36.4") })
			expect.Same(t, "version that a new process tells", c.want, imageOf(t, s.watched(), m))
			if n := s.ByClass(); n["GET vm"] != 0 || n["PUT vm"] != 1 {
				t.Errorf("calls are %v, want one PUT and no GET of the VM", n)
			}
		})
	}
}

func imageOf(t *testing.T, a *account, m cloud.Machine) string {
	t.Helper()
	return expect.Got(a.Observe(t.Context(), m))(t).ImageVersion
}
