package inspect

import (
	"cmp"
	"context"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
)

// places looks for all that the spec names.
func (r *inspection) places(ctx context.Context) {
	if r.results[checkLogin] == OK {
		r.placement, r.sites = places.In(r.Session).Survey(ctx, r.Spec)
	} else {
		r.sites = places.Sites(r.Spec)
	}
	for _, site := range r.sites {
		r.add(site.Field, cmp.Or(site.Needs, checkLogin), func() (Result, string) { return r.place(site) })
	}
}

func (r *inspection) place(site places.Site) (Result, string) {
	switch {
	case site.Err != nil:
		return Failed, r.messageOf(site.Err)
	case site.Name == "":
		return OK, "the default, " + site.Ref.String()
	}
	return OK, fmt.Sprintf("%q is %s", shown(site.Name), site.Ref)
}

// site returns the place of a field; one that is not there if the spec leaves it out.
func (r *inspection) site(field string) (found places.Site) {
	for _, site := range r.sites {
		if site.Field == field {
			return site
		}
	}
	return found
}
