package objects

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	namesPage = "../../../docs/names.md"
	// aboutNames is what stands before the tables.
	aboutNames = "testdata/names.md"
)

// theirKind is a kind of another provider, and where its fields are here.
type theirKind struct {
	heading, of string
	ours        schema.GroupVersionKind
	// roots are the places here where a field of the same name is looked for.
	roots  []string
	fields string
	// differs says of fields with the same name what differs.
	differs map[string]string
}

var (
	windowsMachine = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "WindowsMachine"}
	windowsConfig  = schema.GroupVersionKind{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta1", Kind: "WindowsBootstrapConfig"}
	written        = "the controller writes it"
)

// theirKinds have the fields of the CRDs of cluster-api-provider-vsphere v1.16.1 (v1beta1 and v1beta2), of
// cluster-api-provider-azure v1.27.0 and of Cluster API v1.14.2. What is below a field that is here another one is left out.
var theirKinds = []theirKind{
	{
		heading: "VSphereMachine", of: capv, ours: windowsMachine, roots: []string{"vsphere.", ""},
		fields: `additionalDisksGiB cloneMode cryptoKeyID cryptoProfile customVMXKeys dataDisks datacenter datastore diskGiB
			failureDomain folder ftEncryptionMode guestSoftPowerOffTimeout guestSoftPowerOffTimeoutSeconds hardwareVersion memoryMiB
			migrateEncryption naming namingStrategy nestedHV network network.devices network.devices[].addressesFromPools
			network.devices[].deviceName network.devices[].dhcp4 network.devices[].dhcp4Overrides network.devices[].dhcp6
			network.devices[].dhcp6Overrides network.devices[].gateway4 network.devices[].gateway6 network.devices[].ipAddrs
			network.devices[].macAddr network.devices[].mtu network.devices[].nameservers network.devices[].networkName
			network.devices[].routes network.devices[].searchDomains network.devices[].skipIPAllocation network.routes numCPUs
			numCoresPerSocket os pciDevices powerOffMode providerID resourcePool resources server snapshot storagePolicyName tagIDs
			template thumbprint`,
		differs: map[string]string{"providerID": written},
	},
	{
		heading: "AzureMachine", of: capz, ours: windowsMachine, roots: []string{"azure.", ""},
		fields: `acceleratedNetworking additionalCapabilities additionalTags allocatePublicIP capacityReservationGroupID
			dataDisks[].cachingType dataDisks[].diskSizeGB dataDisks[].lun dataDisks[].managedDisk dataDisks[].nameSuffix diagnostics
			disableExtensionOperations disableVMBootstrapExtension dnsServers enableIPForwarding failureDomain identity
			image.computeGallery image.id image.marketplace image.marketplace.thirdPartyImage image.sharedGallery
			networkInterfaces networkInterfaces[].acceleratedNetworking networkInterfaces[].privateIPConfigs
			networkInterfaces[].subnetName osDisk.cachingType osDisk.diffDiskSettings osDisk.diskSizeGB osDisk.managedDisk
			osDisk.osType providerID roleAssignmentName securityProfile.encryptionAtHost securityProfile.securityType
			securityProfile.uefiSettings spotVMOptions sshPublicKey subnetName systemAssignedIdentityRole userAssignedIdentities
			virtualMachineScaleSetID vmExtensions vmSize`,
		differs: map[string]string{
			"providerID": written, "networkInterfaces[].acceleratedNetworking": "acceleratedNetworking: Enabled, for true",
			"securityProfile.encryptionAtHost": "encryptionAtHost: Enabled, for true",
			"image.computeGallery":             "a public image is in communityGallery instead",
			"networkInterfaces":                "each has a name of its own: - {name: NAME}",
		},
	},
	{
		heading: "KubeadmConfig", of: cabpk, ours: windowsConfig, roots: []string{"custom.", ""},
		fields: `bootCommands clusterConfiguration diskSetup files files[].append files[].contentFrom files[].encoding files[].owner
			files[].permissions format ignition initConfiguration joinConfiguration joinConfiguration.nodeRegistration
			joinConfiguration.nodeRegistration.kubeletExtraArgs joinConfiguration.nodeRegistration.taints mounts ntp
			postKubeadmCommands preKubeadmCommands useExperimentalRetryJoin users users[].groups users[].lockPassword users[].passwd
			users[].shell users[].sshAuthorizedKeys users[].sudo verbosity`,
	},
	{
		heading: "The kubelet's configuration and flags", of: kubelet, ours: windowsConfig, roots: []string{"kubelet.", ""},
		fields: `evictionHard kubeReserved kubelet.nodeIP kubelet.nodeLabels registerWithTaints systemReserved`,
	},
}

const byHand = "no provider's, but what people know from guests and from the vSphere client"

// notTheirs are entries of the table that are no field of the other provider, but what users make of one.
var notTheirs = map[string]string{
	"azure.cpus": "CAPV's, written for Azure", "azure.memoryMiB": "CAPV's, written for Azure",
	"failureDomain": "written without its cloud", "computeGallery.sku": "the marketplace's, written for a gallery",
	"networkInterfaces.addresses": byHand, "networkInterfaces.ipAddresses": byHand, "networkInterfaces.ipAddress": byHand,
	"networkInterfaces.gateway": byHand, "networkInterfaces.subnetMask": byHand, "networkInterfaces.dhcp": byHand,
	"networkInterfaces.macAddress": byHand, "networkInterfaces.networkName": byHand, "customization": byHand,
	"customizationSpec": byHand, "guestCustomization": byHand, "guestId": byHand, "guestID": byHand, "firmware": byHand,
	"memoryGiB": byHand, "memoryGB": byHand, "vsphere.memory": byHand, "vsphere.networks": byHand, "vsphere.host": byHand,
	"addressesFromPools.apiVersion": byHand, "availabilitySet": byHand, "availabilitySetID": byHand, "identityRef.namespace": byHand,
	"credentialsRef": byHand, "secretRef": byHand, "users.password": byHand, "windows.computerName": byHand,
	"windows.hostname": byHand, "vsphere.cluster": byHand,
	"custom.files.secret": "what is below contentFrom, without it",
}

// TestNamesPage: the page says what the table of names says. make generate runs it with -update.
func TestNamesPage(t *testing.T) {
	page := string(expect.Got(os.ReadFile(aboutNames))(t))
	shown := map[theirName]bool{}
	for _, kind := range theirKinds {
		page += "\n## " + kind.heading + "\n\n| Theirs | Here | What differs |\n| --- | --- | --- |\n"
		var rows []theirName
		fields := map[theirName][]string{}
		for field := range strings.FieldsSeq(kind.fields) {
			row := kind.row(t, field)
			shown[row] = true
			if row == (theirName{kind.of, kind.roots[0] + field, ""}) {
				row = theirName{note: "the same name, below `" + strings.TrimSuffix(kind.roots[0], ".") + "`"}
			}
			if len(fields[row]) == 0 {
				rows = append(rows, row)
			}
			fields[row] = append(fields[row], "`"+field+"`")
		}
		needless := ""
		for _, row := range rows {
			if names := strings.Join(fields[row], ", "); row.field == "" && row.provider != "" {
				needless += "| " + names + " | " + row.note + " |\n"
			} else {
				page += row.cells(names)
			}
		}
		if needless != "" {
			page += "\n| Not needed here | Why |\n| --- | --- |\n" + needless
		}
	}
	for ours, table := range theirNames {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if notTheirs[name] == "" && !shown[table[name]] {
				t.Errorf("docs/names.md does not show the name %s, for which there is a sentence with %s", name, ours)
			}
		}
	}
	if *update {
		expect.OK(t, os.WriteFile(namesPage, []byte(page), 0o600))
	}
	expect.Same(t, "make generate writes the page", string(expect.Got(os.ReadFile(namesPage))(t)), page)
}

// row is what the plugin says of a field, or the field of the same name.
func (kind theirKind) row(t *testing.T, field string) theirName {
	t.Helper()
	rules := expect.Got(rulesOf(kind.ours))(t)
	found, ok := theirsAt(kind.ours.Kind, "spec."+kind.roots[0]+field)
	if ok {
		if found.field != "" && !there(rules.structural, found.field) {
			t.Errorf("%s of %s is said to be %s here, and there is no such field", field, kind.heading, found.field)
		}
		return found
	}
	for _, root := range kind.roots {
		if there(rules.structural, root+field) {
			return theirName{kind.of, root + field, kind.differs[field]}
		}
	}
	t.Errorf("nothing says what is here for %s of %s", field, kind.heading)
	return theirName{}
}

// there tells whether the spec has the field.
func there(structural *structuralschema.Structural, path string) bool {
	return schemaAt(structural, "spec."+strings.ReplaceAll(path, "[]", "[0]")) != nil
}

// cells is the row of fields for which the same is here. Only what has the same name has no provider.
func (t theirName) cells(fields string) string {
	if t.provider == "" {
		return "| " + fields + " | " + t.note + " | |\n"
	}
	return "| " + fields + " | `" + t.field + "` | " + t.note + " |\n"
}

// Every field of a KubeadmConfig of the Cluster API in go.mod is on the page.
func TestNamesOfKubeadmConfig(t *testing.T) {
	rules := expect.Got(rulesOf(schema.GroupVersionKind{
		Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfig",
	}))(t)
	for _, field := range fieldsAt(schemaAt(rules.structural, "spec")) {
		if !slices.Contains(strings.Fields(theirKinds[2].fields), field) {
			t.Errorf("docs/names.md lacks the field %s of a KubeadmConfig", field)
		}
	}
}
