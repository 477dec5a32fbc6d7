package request

import infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"

// Choice is a size and a zone in which to try a VM. No zone leaves it to Azure.
type Choice struct {
	Size string
	Zone string
}

// Sizes are those of a spec in the order in which they are tried.
func Sizes(spec *infrav1.AzureVM) []string {
	return append([]string{spec.VMSize}, spec.FallbackVMSizes...)
}

// Zones are those in which a VM may be; one without a name if that is left to Azure. That of the Machine leaves no choice.
func Zones(spec *infrav1.AzureVM, failureDomain string) []string {
	if failureDomain != "" || len(spec.Zones) == 0 {
		return []string{failureDomain}
	}
	return spec.Zones
}

// Choices are all pairs of sizes and zones in the order in which they are tried: a size in all zones before the next size.
// Without zones there is one choice for each size.
func Choices(spec *infrav1.AzureVM, failureDomain string) (choices []Choice) {
	for _, size := range Sizes(spec) {
		for _, zone := range Zones(spec, failureDomain) {
			choices = append(choices, Choice{Size: size, Zone: zone})
		}
	}
	return choices
}
