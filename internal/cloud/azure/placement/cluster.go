package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// cluster has the values of an AzureCluster. The zero value is none.
type cluster struct {
	name           string // namespace/name, for people
	environment    infrav1.AzureCloud
	subscription   string
	group          string
	location       string
	network        arm.ID // the virtual network; without names if it is not set yet
	subnets        []subnet
	balancer, pool string
	failureDomains []string
	tags           map[string]infrav1.AzureTagValue
}

type subnet struct {
	id, role                  string
	securityGroup, routeTable string
	natGateway                bool
}

// read reads an AzureCluster of any version that has the fields of v1beta1. What is not there yet is empty.
func read(object *unstructured.Unstructured) (cluster, error) {
	r := reader{object: object.Object}
	c := cluster{
		name:           object.GetNamespace() + "/" + object.GetName(),
		environment:    r.environment(),
		subscription:   r.text("spec", "subscriptionID"),
		group:          r.text("spec", "resourceGroup"),
		location:       r.text("spec", "location"),
		balancer:       r.text("spec", "networkSpec", "nodeOutboundLB", "name"),
		pool:           r.text("spec", "networkSpec", "nodeOutboundLB", "backendPool", "name"),
		tags:           r.tags("spec", "additionalTags"),
		failureDomains: r.domains("status", "failureDomains"),
	}
	if c.pool == "" { // as its own defaults are
		c.pool = c.balancer + "-outboundBackendPool"
	}
	c.readNetwork(&r)
	zone := r.text("spec", "extendedLocation", "name")
	if r.wrong != "" {
		return cluster{}, refuse("AzureCluster %s has a value of another type than v1beta1 in %s: use a version of its provider "+
			"whose AzureClusters have the fields of v1beta1", c.name, r.wrong)
	}
	return c, c.check(object, zone)
}

// CloudOf is the cloud that an AzureCluster names; none without one.
func CloudOf(object *unstructured.Unstructured) (infrav1.AzureCloud, error) {
	if object == nil {
		return "", nil
	}
	r := reader{object: object.Object}
	c := cluster{name: object.GetNamespace() + "/" + object.GetName(), environment: r.environment()}
	return c.environment, c.checkCloud()
}

func (c cluster) checkCloud() error {
	if slices.Contains(environments, c.environment) {
		return nil
	}
	return refuse("AzureCluster %s is in the cloud %q, which is not defined: spec.azureEnvironment must be one of %v",
		c.name, cloud.Clean(string(c.environment), 64), environments)
}

// check refuses what no VM can be placed by.
func (c cluster) check(object *unstructured.Unstructured, edgeZone string) error {
	_, paused := object.GetAnnotations()[clusterv1.PausedAnnotation]
	switch {
	case paused:
		return c.wait("is paused: remove its annotation %s, or set subscription, group, location and subnet in spec.azure of a new "+
			"WindowsMachineTemplate", clusterv1.PausedAnnotation)
	case edgeZone != "":
		return refuse("AzureCluster %s is in the edge zone %q, which is not supported: use a cluster without spec.extendedLocation",
			c.name, cloud.Clean(edgeZone, 64))
	}
	if err := c.checkCloud(); err != nil {
		return err
	}
	if wrong := arm.CheckTags(c.tags); wrong != "" {
		return refuse("spec.additionalTags of AzureCluster %s: %s", c.name, wrong)
	}
	return nil
}

var environments = []infrav1.AzureCloud{infrav1.AzurePublicCloud, infrav1.AzureUSGovernmentCloud, infrav1.AzureChinaCloud}

// readNetwork reads the virtual network, which may be in another group than the cluster.
func (c *cluster) readNetwork(r *reader) {
	group := cmp.Or(r.text("spec", "networkSpec", "vnet", "resourceGroup"), c.group)
	name := r.text("spec", "networkSpec", "vnet", "name")
	if name == "" || group == "" || c.subscription == "" {
		return
	}
	c.network = arm.GroupID(c.subscription, group).Network(name)
	for _, item := range r.objects("spec", "networkSpec", "subnets") {
		c.subnets = append(c.subnets, subnet{
			id:            c.network.Parent().Subnet(name, item.text("name")).String(),
			role:          item.text("role"),
			securityGroup: c.resource(group, "networkSecurityGroups", item, "securityGroup"),
			routeTable:    c.resource(group, "routeTables", item, "routeTable"),
			natGateway:    item.text("natGateway", "name") != "" || item.text("natGateway", "id") != "",
		})
		r.note(item.wrong)
	}
}

// resource is the ID of a network resource that a subnet names: with it, or in the group of the virtual network.
func (c cluster) resource(group, kind string, item *reader, field string) string {
	name := item.text(field, "name")
	if id := item.text(field, "id"); id != "" || name == "" {
		return id
	}
	return arm.GroupID(c.subscription, group).String() + "/providers/Microsoft.Network/" + kind + "/" + name
}

// choose is the ID of the subnet of an adapter that names none by ID: by name in the cluster's virtual network, or that of nodes.
func (c cluster) choose(adapter int, name string) (string, error) {
	field := fmt.Sprintf("networkInterfaces[%d].subnet.id", adapter)
	switch {
	case name != "" && c.name == "":
		return "", refuse("spec.azure.networkInterfaces[%d].subnet.name names a subnet of the AzureCluster, but the Cluster has none: "+
			"use subnet.id instead", adapter)
	case len(c.network.Names) == 0:
		return "", c.lacks(field, "networkSpec.vnet.name")
	case name != "":
		return c.network.Parent().Subnet(c.network.Names[0], name).String(), nil
	}
	// A node is in the first subnet with the role node, else in the first with the role cluster.
	for _, role := range []string{"node", "cluster"} {
		for _, s := range c.subnets {
			if _, valid := arm.Parse(s.id); s.role == role && valid {
				return s.id, nil
			}
		}
	}
	return "", c.lacks(field, "networkSpec.subnets with the role node or cluster")
}

func (c cluster) subnetOf(id string) subnet {
	for _, s := range c.subnets {
		if arm.SameID(s.id, id) {
			return s
		}
	}
	return subnet{}
}

// inNetwork reports whether a subnet is in the cluster's virtual network.
func (c cluster) inNetwork(id string) bool {
	return strings.HasPrefix(strings.ToLower(id), c.network.Key()+"/subnets/")
}

// lacks is the error about a value that neither the spec nor the AzureCluster has.
func (c cluster) lacks(specField, clusterField string) error {
	if c.name == "" {
		return cloud.Missing("spec.azure." + specField)
	}
	return c.wait("has no spec.%s yet: wait until its provider has filled it in, or set spec.azure.%s in a new "+
		"WindowsMachineTemplate",
		clusterField, specField)
}

func (c cluster) wait(format string, args ...any) error {
	return cloud.Errorf(cloud.Transient, infrav1.WaitingForClusterInfrastructureReason,
		"AzureCluster %s %s", c.name, fmt.Sprintf(format, args...))
}

func (c cluster) nameOr(spec string) string {
	if c.name == "" {
		return spec
	}
	return spec + " or AzureCluster " + c.name
}

// reader reads fields of an object that may have any shape, and notes the first one that has another type than expected.
type reader struct {
	object map[string]any
	wrong  string
}

func (r *reader) environment() infrav1.AzureCloud {
	return infrav1.AzureCloud(cmp.Or(r.text("spec", "azureEnvironment"), string(infrav1.AzurePublicCloud)))
}

func (r *reader) note(field string) { r.wrong = cmp.Or(r.wrong, field) }

func (r *reader) text(fields ...string) string {
	text, _, err := unstructured.NestedString(r.object, fields...)
	r.check(err, fields)
	return text
}

func (r *reader) tags(fields ...string) map[string]infrav1.AzureTagValue {
	texts, found, err := unstructured.NestedStringMap(r.object, fields...)
	r.check(err, fields)
	if !found {
		return nil
	}
	tags := map[string]infrav1.AzureTagValue{}
	for name, value := range texts {
		tags[name] = infrav1.AzureTagValue(value)
	}
	return tags
}

func (r *reader) objects(fields ...string) []*reader {
	items, _, err := unstructured.NestedSlice(r.object, fields...)
	r.check(err, fields)
	var readers []*reader
	for _, item := range items {
		object, isObject := item.(map[string]any)
		if !isObject {
			r.note(strings.Join(fields, "."))
		}
		readers = append(readers, &reader{object: object})
	}
	return readers
}

// domains reads failure domains: a map in contract v1beta1, a list in v1beta2.
func (r *reader) domains(fields ...string) []string {
	value, _, _ := unstructured.NestedFieldNoCopy(r.object, fields...)
	switch domains := value.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(domains))
	case []any:
		var names []string
		for _, item := range r.objects(fields...) {
			names = append(names, item.text("name"))
			r.note(item.wrong)
		}
		slices.Sort(names)
		return names
	case nil:
	default:
		r.note(strings.Join(fields, "."))
	}
	return nil
}

func (r *reader) check(err error, fields []string) {
	if err != nil {
		r.note(strings.Join(fields, "."))
	}
}
