package inspect

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

var plain = regexp.MustCompile(`^[A-Za-z0-9._/:@=-]+$`)

// quoted is a value as one word of a shell, whatever is in it.
func quoted(text string) string {
	text = cloud.Clean(text, maxWord)
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// maxWord is more than any ID of Azure's has.
const maxWord = 1024

// command fills in values, each as one word.
func command(format string, values ...string) string {
	words := make([]any, len(values))
	for n, value := range values {
		words[n] = quoted(value)
	}
	return fmt.Sprintf(format, words...)
}

// clientID is what stands for the machine's identity in a command.
func (i *inspection) clientID() string { return cmp.Or(i.Identity.ClientID, "CLIENT-ID") }

// assign gives the custom role to the machine's identity.
func (i *inspection) assign(scope string) string {
	return command("az role assignment create --assignee %s --role ROLE --scope %s", i.clientID(), scope)
}

// assigned shows the roles of the machine's identity.
func (i *inspection) assigned(scope string) string {
	return command("az role assignment list --assignee %s --scope %s --include-inherited", i.clientID(), scope)
}

// rolesOfMachine ends a sentence with how to see all roles of the machine's identity, if that is known.
func (i *inspection) rolesOfMachine() string {
	if i.Identity.ClientID == "" {
		return ""
	}
	return "; " + command("az role assignment list --assignee %s --all --output table", i.Identity.ClientID) +
		" shows what it may do"
}

func (i *inspection) groupID() arm.ID {
	return arm.GroupID(i.Place.SubscriptionID, i.Place.ResourceGroup)
}

func (i *inspection) region() string { return skus.Location(i.Place.Location) }

func (i *inspection) createGroup() string {
	return command("az group create --name %s --location %s --subscription %s", i.Place.ResourceGroup, i.region(),
		i.Place.SubscriptionID)
}

func (i *inspection) listSizes() string {
	return command("az vm list-skus --location %s --resource-type virtualMachines --all --output table --subscription %s",
		i.region(), i.Place.SubscriptionID)
}

func listSubnets(subnet arm.ID) string {
	return command("az network vnet subnet list --resource-group %s --vnet-name %s --subscription %s --output table", subnet.Group,
		subnet.Names[0], subnet.Subscription)
}

func (i *inspection) register(provider string) string {
	return command("az provider register --namespace %s --subscription %s", provider, i.Place.SubscriptionID)
}

// raise asks for a larger quota.
func (i *inspection) raise(quota, kind string, limit int64) string {
	scope := i.subscription() + "/providers/Microsoft.Compute/locations/" + i.region()
	return command("az quota update --resource-name %s --scope %s --resource-type %s --limit-object value=%s", quota, scope, kind,
		fmt.Sprint(limit))
}
