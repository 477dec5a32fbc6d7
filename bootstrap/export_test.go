package bootstrap

import bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"

// CheckFeatureGate asks the table for one feature gate.
func CheckFeatureGate(version, name string, state bootstrapv1.State) error {
	minor, err := readMinor(version)
	if err != nil {
		return err
	}
	_, err = readGates([]bootstrapv1.FeatureGate{{Name: name, State: state}}, minor)
	return err
}
