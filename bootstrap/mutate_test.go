package bootstrap_test

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// A mutation of an Input: the bytes say where, text says what.
type mutation struct {
	// other is an Input whose parts are put in place of some.
	other  bootstrap.Input
	spots  []byte
	text   string
	number int32
}

// apply changes in at every spot: two bytes choose a field, one what becomes of it. Only what a user can write is
// changed, so that every refusal must be one that the user can understand.
func (m mutation) apply(in *bootstrap.Input) {
	for name, content := range m.other.Sources {
		source(in, name, string(content))
	}
	for spot := range slices.Chunk(m.spots, 3) {
		if len(spot) < 3 {
			return
		}
		fields, others := writable(in), writable(&m.other)
		at := int(spot[0])<<8 | int(spot[1])
		if spot[2]%4 == 0 {
			// A whole room of the spec from elsewhere; both have the same rooms in the same order.
			room := at % reflect.TypeOf(in.Config.Spec).NumField()
			reflect.ValueOf(&in.Config.Spec).Elem().Field(room).Set(reflect.ValueOf(m.other.Config.Spec).Field(room))
			// What the machine's controller writes for cloudConfigFile is there, as with any config.
			in.WindowsMachine.Status.Azure = cmp.Or(in.WindowsMachine.Status.Azure, m.other.WindowsMachine.Status.Azure)
			continue
		}
		if names := slices.Sorted(maps.Keys(in.Sources)); spot[2]%8 == 7 && len(names) > 0 {
			name := names[at%len(names)]
			source(in, name, m.textFor(spot[2], string(in.Sources[name]), others[at%len(others)]))
			continue
		}
		field := fields[at%len(fields)]
		switch field.Kind() {
		case reflect.String:
			field.SetString(m.textFor(spot[2], field.String(), others[at%len(others)]))
		case reflect.Int32, reflect.Int64:
			field.SetInt(int64(m.number&0xffff + 1)) // the API server has refused all others
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Slice:
			field.SetBytes([]byte(m.textFor(spot[2], string(field.Bytes()), others[at%len(others)])))
		}
	}
}

// textFor is the text alone, behind or before what was there, or what stands in some field of another Input.
func (m mutation) textFor(choice byte, was string, other reflect.Value) string {
	switch choice % 4 {
	case 1:
		return m.text
	case 2:
		if choice&4 != 0 {
			return was + m.text
		}
		return m.text + was
	}
	if other.Kind() == reflect.String {
		return other.String()
	}
	return ""
}

// writable are the leaves of what users write, in the order of the types.
func writable(in *bootstrap.Input) []reflect.Value {
	var leaves []reflect.Value
	for _, owned := range []any{
		&in.Config.Spec, &in.WindowsMachine.Spec.VSphere, &in.WindowsMachine.Status.NetworkInterfaces, &in.WindowsMachine.Spec.Azure,
		&in.Cluster.Spec.ClusterNetwork,
		&in.Cluster.Spec.ControlPlaneEndpoint, &in.Machine.Spec.Version, &in.Machine.Name, &in.Cluster.Name,
	} {
		leaves = appendLeaves(leaves, reflect.ValueOf(owned).Elem())
	}
	return leaves
}

func appendLeaves(leaves []reflect.Value, v reflect.Value) []reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			leaves = appendLeaves(leaves, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				leaves = appendLeaves(leaves, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(leaves, v)
		}
		for i := range v.Len() {
			leaves = appendLeaves(leaves, v.Index(i))
		}
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		leaves = append(leaves, v)
	}
	return leaves
}
