package main

import (
	"fmt"
	"io"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/words"
)

func printPlan(found *objects.Set, o options, s streams) error {
	m, err := gather(found, o, s)
	if err != nil {
		return err
	}
	p := m.Shown.Plan
	if p == nil && m.Guest.Plan != nil {
		return fmt.Errorf("the plan in Secret %s is not shown; use render with --show-secrets", m.StoredIn)
	}
	if p == nil {
		return fmt.Errorf("this release cannot read the plan in Secret %s; use the release that rendered it", m.StoredIn)
	}
	fmt.Fprintf(s.out, "Machine %s/%s of Cluster %s becomes Node %s with Kubernetes %s.\n",
		p.Machine.Namespace, p.Machine.Name, p.Machine.Cluster, p.Machine.Node, m.Owner.Spec.Version)
	_, err = io.WriteString(s.out, words.Tell(p))
	return err
}
