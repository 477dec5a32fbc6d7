package conflicts

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// imageField is a field that names an image or its version, with its value.
type imageField struct{ field, text string }

// image lists the fields of the image, the most telling first.
func (s Subject) image() []imageField {
	if vm := s.Windows.Spec.VSphere; vm != nil {
		return []imageField{{"spec.vsphere.image.template", vm.Image.Template[strings.LastIndex(vm.Image.Template, "/")+1:]}}
	}
	image := s.Windows.Spec.Azure.Image
	const field = "spec.azure.image."
	_, id, _ := strings.Cut(image.ID, "/providers/")
	return []imageField{
		{field + "computeGallery.version", image.ComputeGallery.Version},
		{field + "communityGallery.version", image.CommunityGallery.Version},
		{field + "marketplace.version", image.Marketplace.Version},
		{field + "id", id},
		{field + "computeGallery.name", image.ComputeGallery.Name},
		{field + "communityGallery.name", image.CommunityGallery.Name},
		{field + "marketplace.sku", image.Marketplace.SKU},
		{field + "marketplace.offer", image.Marketplace.Offer},
		{field + "marketplace.publisher", image.Marketplace.Publisher},
	}
}

// linux are words in the names of Linux images. Those of image-builder's flavors are among them.
var linux = regexp.MustCompile(`(?i)(ubuntu|ubun2|debian|flatcar|photon|mariner|azurelinux|azlinux|centos|rocky|alma|` +
	`redhat|rhel|suse|sles|fedora|amazonlinux|bottlerocket|talos|linux|canonical)`)

// windows are words in the names of Windows images.
var windows = regexp.MustCompile(`(?i)(win|ws20|ltsc|2019|2022|2025)`)

// system looks for images of Linux. A name is no proof, and in Azure check asks for the system.
func (s Subject) system() []string {
	for _, field := range s.image() {
		if found := linux.FindString(field.text); found != "" && !windows.MatchString(field.text) {
			return note("%s is %q, which by its name is an image of Linux (%s): a VM of it never becomes a Windows node. Write an "+
				"image of Windows, as docs/images.md describes", field.field, field.text, found)
		}
	}
	if vm := s.Windows.Spec.Azure; vm != nil && strings.EqualFold(vm.Image.Marketplace.Publisher, "MicrosoftWindowsServer") {
		return note("spec.azure.image.marketplace is Microsoft's plain Windows, which has neither cloudbase-init nor containerd nor " +
			"kubeadm: a VM of it never joins. Use an image that image-builder made, as docs/images.md describes")
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
	for _, field := range s.image() {
		if named, found := minorOf(field.text); found && named != minor {
			return note("%s is %q, which names Kubernetes 1.%d, but the Machine has the version %s: if the image has 1.%d, its VM is "+
				"made and gives up with ImageVersionMismatch. Write an image of 1.%d, or another spec.version",
				field.field, field.text, named, s.Owner.Spec.Version, named, minor)
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
	image := s.Windows.Spec.Azure.Image
	for _, c := range []struct{ name, version, field string }{
		{image.ComputeGallery.Name, image.ComputeGallery.Version, "computeGallery"},
		{image.CommunityGallery.Name, image.CommunityGallery.Version, "communityGallery"},
		{image.Marketplace.SKU, image.Marketplace.Version, "marketplace"},
	} {
		if c.name != "" && (c.version == "" || c.version == latest) {
			return "spec.azure.image." + c.field + ".version is " + cmp.Or(c.version, "not set")
		}
	}
	if strings.Contains(image.ID, "/galleries/") && !strings.Contains(image.ID, "/versions/") {
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
	for _, field := range s.image() {
		for _, release := range releases {
			if !strings.HasSuffix(field.field, "ersion") && release.name.MatchString(field.text) {
				return note("%s is %q, which by its name is %s", field.field, field.text, release.says)
			}
		}
	}
	return nil
}
