package test

import (
	"go/ast"
	"testing"
)

// twice are constants that two rooms must have equal and cannot share, because neither may import the other.
var twice = []struct{ what, room, name, other, otherName string }{
	{
		"the guestinfo variable in which a node reports",
		"bootstrap", "GuestInfoReportKey", "internal/cloud/vsphere", "reportKey",
	},
	{
		"the bytes of user data that guestinfo carries",
		"bootstrap", "maxGuestInfoBytes", "internal/cloud/vsphere", "maxUserData",
	},
}

func TestConstantsOfTwoRoomsAreEqual(t *testing.T) {
	all := sources(t)
	for _, c := range twice {
		one, other := constant(all, c.room, c.name), constant(all, c.other, c.otherName)
		if one == "" || one != other {
			t.Errorf("%s: %s has %s = %q, %s has %s = %q", c.what, c.room, c.name, one, c.other, c.otherName, other)
		}
	}
}

// constant is the literal of a constant in a room, or "" where the room has no such constant.
func constant(all []source, folder, name string) string {
	found := ""
	for _, s := range all {
		if s.isTest || !within(s.folder, folder) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == name && len(spec.Values) == 1 {
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					found = literal.Value
				}
			}
			return true
		})
	}
	return found
}
