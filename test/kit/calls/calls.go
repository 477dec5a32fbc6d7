// Package calls has an API server in memory ask before each call, so that a test can note calls and let them fail.
package calls

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Call is one of a client.
type Call struct {
	Verb   string           // get, list, create, update, delete, patch
	Object runtime.Object   // or a list, as the client gave it
	Key    client.ObjectKey // empty for lists
	Part   string           // the subresource, such as status
	Patch  client.Patch
}

// Ask asks before each call; what it returns is the server's answer if it is an error.
func Ask(before func(Call) error) interceptor.Funcs {
	ask := func(call Call, carryOut func() error) error {
		if refusal := before(call); refusal != nil {
			return refusal
		}
		return carryOut()
	}
	of := func(verb string, o client.Object) Call {
		return Call{Verb: verb, Object: o, Key: client.ObjectKeyFromObject(o)}
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
			return ask(Call{Verb: "get", Object: o, Key: key}, func() error { return c.Get(ctx, key, o, with...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, with ...client.ListOption) error {
			return ask(Call{Verb: "list", Object: list}, func() error { return c.List(ctx, list, with...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.CreateOption) error {
			return ask(of("create", o), func() error { return c.Create(ctx, o, with...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.UpdateOption) error {
			return ask(of("update", o), func() error { return c.Update(ctx, o, with...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.DeleteOption) error {
			return ask(of("delete", o), func() error { return c.Delete(ctx, o, with...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, with ...client.PatchOption) error {
			call := of("patch", o)
			call.Patch = p
			return ask(call, func() error { return c.Patch(ctx, o, p, with...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, part string, o client.Object, p client.Patch, with ...client.SubResourcePatchOption,
		) error {
			call := of("patch", o)
			call.Part, call.Patch = part, p
			return ask(call, func() error { return c.SubResource(part).Patch(ctx, o, p, with...) })
		},
	}
}
