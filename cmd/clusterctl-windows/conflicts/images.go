package conflicts

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// said is a field that names an image or its version, and what stands there.
type said struct{ field, text string }

// image is what the spec says of its image, beginning with what says most.
func (s Subject) image() []said {
	if vm := s.Windows.Spec.VSphere; vm != nil {
		return []said{{"spec.vsphere.image.template", vm.Image.Template[strings.LastIndex(vm.Image.Template, "/")+1:]}}
	}
	of := s.Windows.Spec.Azure.Image
	const field = "spec.azure.image."
	_, id, _ := strings.Cut(of.ID, "/providers/")
	return []said{
		{field + "computeGallery.version", of.ComputeGallery.Version},
		{
			field + "communityGallery.version",
			of.CommunityGallery.Version,
		},
		{field + "marketplace.version", of.Marketplace.Version},
		{field + "id", id},
		{
			field + "computeGallery.name",
			of.ComputeGallery.Name,
		},
		{field + "communityGallery.name", of.CommunityGallery.Name},
		{field + "marketplace.sku", of.Marketplace.SKU},
		{field + "marketplace.offer", of.Marketplace.Offer},
		{field + "marketplace.publisher", of.Marketplace.Publisher},
	}
}

// linux are words by which people name images of Linux. Those of image-builder's flavors are among them.
var linux = regexp.MustCompile(`(?i)(ubuntu|ubun2|debian|flatcar|photon|mariner|azurelinux|azlinux|centos|rocky|alma|` +
	`redhat|rhel|suse|sles|fedora|amazonlinux|bottlerocket|talos|linux|canonical)`)

// windows are words by which people name images of Windows.
var windows = regexp.MustCompile(`(?i)(win|ws20|ltsc|2019|2022|2025)`)

// system looks for images of Linux. A name is no proof, and in Azure check asks for the system.
func (s Subject) system() []string {
	for _, one := range s.image() {
		if found := linux.FindString(one.text); found != "" && !windows.MatchString(one.text) {
			return note("%s is %q, which by its name is an image of Linux (%s): a VM of it never becomes a Windows node. Write an "+
				"image of Windows, as docs/images.md says", one.field, one.text, found)
		}
	}
	if vm := s.Windows.Spec.Azure; vm != nil && strings.EqualFold(vm.Image.Marketplace.Publisher, "MicrosoftWindowsServer") {
		return note("spec.azure.image.marketplace is Microsoft's plain Windows, which has neither cloudbase-init nor containerd nor " +
			"kubeadm: a VM of it never joins. Use an image that image-builder made, as docs/images.md says")
	}
	return nil
}

// kubernetes finds a version of Kubernetes in the name or version of an image, as in windows-2022-kube-v1.36.3; the marketplace
// has 136.3.20261001.
var (
	kubernetes    = regexp.MustCompile(`(?i)(?:^|[^0-9.])v?1[.\-_]([23456]\d)(?:[.\-_+]|$)`)
	ofMarketplace = regexp.MustCompile(`^1([23456]\d)\.\d+\.20\d{6}$`)
	numbers       = regexp.MustCompile(`^1\.([23456]\d)\.\d+$`)
)

// minorOf is the minor version of Kubernetes that a text names; false if it names none.
func minorOf(text string) (uint64, bool) {
	for _, form := range []*regexp.Regexp{numbers, ofMarketplace, kubernetes} {
		if found := form.FindStringSubmatch(text); found != nil {
			minor, err := strconv.ParseUint(found[1], 10, 8)
			return minor, err == nil
		}
	}
	return 0, false
}

// version compares the minor version of the image with the Machine's: with another one the guest gives up. It is only a name or a
// number of the image, which may have been chosen by other rules.
func (s Subject) version() []string {
	wanted, err := version.ParseGeneric(s.Owner.Spec.Version)
	if err != nil {
		return nil
	}
	minor := uint64(wanted.Minor())
	for _, one := range s.image() {
		if has, found := minorOf(one.text); found && has != minor {
			return note("%s is %q, which names Kubernetes 1.%d, but the Machine has the version %s: if the image has 1.%d, its VM is "+
				"made and gives up with ImageVersionMismatch. Write an image of 1.%d, or another spec.version",
				one.field, one.text, has, s.Owner.Spec.Version, has, minor)
		} else if found {
			return nil
		}
	}
	if field := s.newest(); field != "" {
		return note("%s: each VM gets the newest version of the image that is there when it is made; with another Kubernetes than "+
			"1.%d its VM is made and gives up with ImageVersionMismatch. Write the number of a version", field, minor)
	}
	return nil
}

// newest is the field of a version that Azure looks up when a VM is made, and what stands there.
func (s Subject) newest() string {
	if s.Windows.Spec.Azure == nil {
		return ""
	}
	of := s.Windows.Spec.Azure.Image
	for _, one := range []struct{ name, version, field string }{
		{of.ComputeGallery.Name, of.ComputeGallery.Version, "computeGallery"},
		{of.CommunityGallery.Name, of.CommunityGallery.Version, "communityGallery"},
		{of.Marketplace.SKU, of.Marketplace.Version, "marketplace"},
	} {
		if one.name != "" && (one.version == "" || one.version == latest) {
			return "spec.azure.image." + one.field + ".version is " + cmp.Or(one.version, "not set")
		}
	}
	if strings.Contains(of.ID, "/galleries/") && !strings.Contains(of.ID, "/versions/") {
		return "spec.azure.image.id has no /versions/ at its end"
	}
	return ""
}

const latest = "latest"

// releases are those of Windows in names of images, and what becomes of a node with them.
var releases = []struct {
	name *regexp.Regexp
	says string
}{
	{yearOf("2008|2012|2016"), "older than Windows Server 2019: the guest gives up with WindowsNotSupported. " + newer},
	{yearOf("2019"), "Windows Server 2019, which the documentation of Kubernetes no longer lists: the node joins with a " +
		"warning, and runs only containers of build 17763. " + newer},
	{yearOf("win(?:dows)?[-_ ]?1[01]"), "a Windows for clients: the node joins with a warning, and is not supported. " + newer},
}

const newer = "Use Windows Server 2022 or 2025"

// yearOf finds a word that no other digits are beside.
func yearOf(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^0-9])(?:` + words + `)(?:[^0-9]|$)`)
}

// release looks for old Windows in the image's name.
func (s Subject) release() []string {
	for _, one := range s.image() {
		for _, release := range releases {
			if !strings.HasSuffix(one.field, "ersion") && release.name.MatchString(one.text) {
				return note("%s is %q, which by its name is %s", one.field, one.text, release.says)
			}
		}
	}
	return nil
}
