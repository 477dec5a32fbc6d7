package windows

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Values as the text that a fact is taken from.
func TestRegistryText(t *testing.T) {
	t.Parallel()
	const key = `HKEY_LOCAL_MACHINE\SOFTWARE\a`
	m := newMachine(t)
	expect.OK(t, m.Setup(func(s *State) {
		s.SetValue(key, "text", Text(`%Tools%`))
		s.SetValue(key, "number", DWord(-1))
		s.SetValue(key, "list", MultiString("a", "", "b"))
		s.SetValue(key, "variables", RegistryValue{Type: "ExpandString", Text: `%tools%\100%`})
	}))
	for name, want := range map[string]string{
		"text": "%Tools%", "number": "-1", "list": "a\n\nb", "variables": `%tools%\100%`, "missing": "", "LIST": "a\n\nb",
	} {
		expect.Same(t, name, want, expect.Got(m.RegistryText(key, name))(t))
	}
	expect.Same(t, "a missing key", "", expect.Got(m.RegistryText(key+`\b`, ""))(t))
}
