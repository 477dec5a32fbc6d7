package doc

import "strings"

// ID is the id of an ARM resource, of a resource group or of a subscription. Its parts keep the case in which they were written.
type ID struct {
	Subscription, Group, Provider string
	Types, Names                  []string
}

// ParseID reads an id. What is left over, such as an action, makes it invalid.
func ParseID(s string) (ID, bool) {
	parts := strings.Split(strings.Trim(s, "/"), "/")
	var id ID
	if len(parts) < 2 || !Same(parts[0], "subscriptions") || parts[1] == "" {
		return id, false
	}
	id.Subscription = parts[1]
	parts = parts[2:]
	if len(parts) >= 2 && Same(parts[0], "resourceGroups") {
		id.Group = parts[1]
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return id, true
	}
	if len(parts) < 4 || len(parts)%2 != 0 || !Same(parts[0], "providers") {
		return id, false
	}
	id.Provider = parts[1]
	for i := 2; i < len(parts); i += 2 {
		if parts[i] == "" || parts[i+1] == "" {
			return id, false
		}
		id.Types = append(id.Types, parts[i])
		id.Names = append(id.Names, parts[i+1])
	}
	return id, true
}

// Resource returns the id of a resource in a group.
func Resource(subscription, group, provider string, typeAndName ...string) ID {
	id := ID{Subscription: subscription, Group: group, Provider: provider}
	for i := 0; i+1 < len(typeAndName); i += 2 {
		id.Types = append(id.Types, typeAndName[i])
		id.Names = append(id.Names, typeAndName[i+1])
	}
	return id
}

// String writes the id as ARM does.
func (id ID) String() string {
	parts := []string{"", "subscriptions", id.Subscription}
	if id.Group != "" {
		parts = append(parts, "resourceGroups", id.Group)
	}
	if id.Provider != "" {
		parts = append(parts, "providers", id.Provider)
	}
	for i := range id.Types {
		parts = append(parts, id.Types[i], id.Names[i])
	}
	return strings.Join(parts, "/")
}

// Key is the same for all ways to write one id.
func (id ID) Key() string { return strings.ToLower(id.String()) }

// Name is the last name.
func (id ID) Name() string {
	if len(id.Names) == 0 {
		return id.Group
	}
	return id.Names[len(id.Names)-1]
}

// Type is the whole type: Microsoft.Network/virtualNetworks/subnets.
func (id ID) Type() string { return id.Provider + "/" + strings.Join(id.Types, "/") }

// Is says whether the resource has a type, in any case.
func (id ID) Is(kind string) bool { return Same(id.Type(), kind) }

// Key is the key of an id as text.
func Key(id string) string { return strings.ToLower(strings.TrimSuffix(id, "/")) }
