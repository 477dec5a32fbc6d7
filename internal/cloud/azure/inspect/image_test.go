package inspect

import (
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestJudge: an image is one of Windows, in the region, and of a generation that the spec and a size can start.
func TestJudge(t *testing.T) {
	trusted := &infrav1.AzureVM{}
	trusted.SecurityProfile.SecurityType = infrav1.AzureTrustedLaunch
	for name, c := range map[string]struct {
		spec       *infrav1.AzureVM
		generation string
		regions    []string
		want       cloud.Result
		says       string
	}{
		"of no generation":         {&infrav1.AzureVM{}, "", nil, cloud.CheckOK, "exists"},
		"in the region":            {&infrav1.AzureVM{}, "V2", []string{"East US", "West Europe"}, cloud.CheckOK, "is of"},
		"elsewhere":                {&infrav1.AzureVM{}, "V2", []string{"East US"}, cloud.CheckFailed, "is not in westeurope"},
		"of V1":                    {&infrav1.AzureVM{}, "v1", nil, cloud.CheckOK, "is of generation v1"},
		"of V1, with trust wanted": {trusted, "v1", nil, cloud.CheckFailed, "is of generation V1, with which"},
		"of V2, with trust wanted": {trusted, "V2", nil, cloud.CheckOK, "is of generation V2"},
	} {
		var image shownImage
		image.Properties.HyperVGeneration = c.generation
		for _, region := range c.regions {
			image.Properties.PublishingProfile.TargetRegions = append(image.Properties.PublishingProfile.TargetRegions,
				struct{ Name string }{region})
		}
		i := &inspection{Subject: Subject{Pool: Pool{Spec: c.spec}, Place: infrav1.AzurePlacement{Location: "westeurope"}}}
		got, text := i.judge(image, source{}, nil)
		expect.Same(t, name, c.want, got)
		expect.Same(t, name+": "+text, true, strings.Contains(text, c.says))
	}
}

func TestCompareVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"1.36.9", "1.36.10", -1}, {"2.0.0", "1.99.99", 1}, {"1.2", "1.2", 0}, {"20348.4052.250906", "20348.4171.251003", -1}} {
		expect.Same(t, c.a+" "+c.b, c.want, compareVersions(c.a, c.b))
	}
}

// TestLongGeneration: what Azure calls the generation of an image is told up to a length, to the letter.
func TestLongGeneration(t *testing.T) {
	for over, cut := range []bool{false, true} {
		var image shownImage
		image.Properties.HyperVGeneration = strings.Repeat("x", 8+over)
		_, text := (&inspection{Subject: Subject{Pool: Pool{Spec: &infrav1.AzureVM{}}}}).judge(image, source{}, nil)
		expect.Same(t, text, cut, strings.Contains(text, "..."))
	}
}
