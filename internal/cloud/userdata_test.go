package cloud

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestUserData: a caller that has the data reads them, and whatever prints them, alone or as part of something, prints none.
func TestUserData(t *testing.T) {
	data := UserData("a token")
	expect.Same(t, "data", "a token", string(expect.Got(data.Read(t.Context()))(t)))
	for _, format := range []string{"%s", "%v", "%+v", "%#v"} {
		expect.Same(t, format, "[hidden]", fmt.Sprintf(format, data))
	}
	expect.Same(t, "a list", "[[hidden]]", fmt.Sprint([]UserData{data}))
	expect.Same(t, "log", any("[hidden]"), data.MarshalLog())
	expect.Same(t, "JSON", `{"of":"[hidden]"}`, string(expect.Got(json.Marshal(map[string]UserData{"of": data}))(t)))
}
