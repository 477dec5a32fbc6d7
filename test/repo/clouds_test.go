package repo

import (
	"go/ast"
	"regexp"
	"testing"
)

// roomsOfOneCloud are rooms of controllers that are one cloud's own, and the reason. Where another cloud gets the same, what
// differs goes behind the seam.
var roomsOfOneCloud = map[string]string{
	"controllers/addresses":          "vSphere's: no other cloud lets us choose the addresses of adapters",
	"controllers/addresses/adapters": "vSphere's: MACs in the range of VMware",
}

// linesOfOneCloud are how many lines of other rooms name a cloud, by file, and the reason. They only become fewer.
var linesOfOneCloud = map[string]struct {
	lines  int
	reason string
}{
	"controllers/identities/identities.go": {1, "the one kind of identity that is no Secret, which the API names"},
	"controllers/machine/report.go":        {1, "a sentence for people that names VSphereCluster, which reads a Secret, too"},
}

var nameOfCloud = regexp.MustCompile(`(?i)azure|vsphere|vcenter|vmware`)

// TestCloudsStayInTheirRooms: another cloud needs no line in what all clouds share. No name and no text stands there for one of
// them; a comment may, as an example. What a controller needs of a cloud is a method of cloud.Provider or in cloud.Registration.
func TestCloudsStayInTheirRooms(t *testing.T) {
	found := map[string]map[string]bool{}
	for _, s := range sources(t) {
		isShared := within(s.folder, "controllers", "internal/cloud/accounts") || s.folder == "internal/cloud"
		if s.isTest || !isShared || roomsOfOneCloud[s.folder] != "" {
			continue
		}
		found[s.path] = s.linesThatName(nameOfCloud)
	}
	for path, positions := range found {
		if most := linesOfOneCloud[path].lines; len(positions) > most {
			t.Errorf("%d lines of %s name a cloud, at most %d may: %v", len(positions), path, most, positions)
		} else if len(positions) < most {
			t.Errorf("%d lines of %s name a cloud, and %d were allowed: allow no more", len(positions), path, most)
		}
	}
	for path := range linesOfOneCloud {
		if found[path] == nil {
			t.Errorf("%s may name a cloud and is not there", path)
		}
	}
}

// alikeNames are texts that are the name of a cloud and mean something else, by file, and what they mean.
var alikeNames = map[string]string{
	"bootstrap/network/profiles.go":    "a network of HNS",
	"bootstrap/plan/plan.go":           "a channel of reports",
	"internal/cloud/azure/arm/tags.go": "how tags begin that Azure keeps for itself",
}

// TestNamesOfCloudsStandOnce: a cloud's name is a constant of the API.
func TestNamesOfCloudsStandOnce(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || s.path == "api/infrastructure/v1beta1/clouds.go" || within(s.folder, "test", "hack") {
			continue
		}
		found := s.linesThatName(regexp.MustCompile("^[\"`](azure|vsphere)[\"`]$"))
		switch meaning, alike := alikeNames[s.path]; {
		case alike && len(found) != 1:
			t.Errorf("%s has the name of a cloud %d times, and once as %s", s.path, len(found), meaning)
		case !alike && len(found) > 0:
			t.Errorf("%v: use infrav1.CloudAzure or infrav1.CloudVSphere", found)
		}
	}
}

// linesThatName are the lines with a name or a text that matches.
func (s source) linesThatName(pattern *regexp.Regexp) map[string]bool {
	positions := map[string]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if pattern.MatchString(n.Name) {
				positions[s.position(n)] = true
			}
		case *ast.BasicLit:
			if pattern.MatchString(n.Value) {
				positions[s.position(n)] = true
			}
		}
		return true
	})
	return positions
}
