package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// SaysNothing says whether a label is one with which each Node says what and where it is, whatever its system. A pod that selects
// it is not for Windows for that reason.
func SaysNothing(key string) bool { return slices.Contains(common, key) }

// NamesSystem says whether a label is one of the operating system.
func NamesSystem(key string) bool {
	return slices.Contains([]string{corev1.LabelOSStable, betaOS, corev1.LabelWindowsBuild}, key)
}

// SelectsWindows says whether a nodeSelector with this key and value names Windows, whatever the labels of Nodes are.
func SelectsWindows(key, value string) bool {
	return namesWindows(corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
}
