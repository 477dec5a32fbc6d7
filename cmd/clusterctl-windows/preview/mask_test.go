package preview

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestPlaceholderCASaysThatItIsOne(t *testing.T) {
	all := expect.Got(step.Certificates("", []byte(placeholderCA), ""))(t)
	if name := all[0].Subject.CommonName; name != "placeholder for the CA of the cluster" || !all[0].IsCA {
		t.Errorf("it is %q", name)
	}
}

func TestHideText(t *testing.T) {
	secrets := []string{"secret-part", "id.secret-part", `quo"te\d-secret`, "first\nsecond"}
	for name, c := range map[string]struct{ reason, in, want string }{
		"within":     {"the rest of the text stays readable", "--token=id.secret-part x", "--token=[hidden] x"},
		"escaped":    {"JSON escapes characters", `a quo"te\d-secret`, "a [hidden]"},
		"lines":      {"a secret may have several", "a=first\nsecond", "a=[hidden]"},
		"in base64":  {"content of files is in base64", base64.StdEncoding.EncodeToString([]byte("x secret-part")), "[hidden]"},
		"none":       {"nothing else is changed", "secret", "secret"},
		"two of one": {"each of them", "secret-part, secret-part", "[hidden], [hidden]"},
	} {
		t.Run(name, func(t *testing.T) {
			data := expect.Got(json.Marshal(map[string]any{"key": []any{c.in, 1}}))(t)
			want := string(expect.Got(json.Marshal(map[string]any{"key": []any{c.want, 1}}))(t))
			expect.Same(t, c.reason, want, string(expect.Got(hideTexts(data, secrets))(t)))
		})
	}
}
