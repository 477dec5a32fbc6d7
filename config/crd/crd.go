// Package crd embeds the CustomResourceDefinitions that are applied to a management cluster.
package crd

import "embed"

// Bases has the generated files, one for each kind.
//
//go:embed bases/*.yaml
var Bases embed.FS
