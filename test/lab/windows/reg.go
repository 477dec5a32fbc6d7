package windows

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// registryTypes are the types of values as reg.exe prints them.
var registryTypes = map[string]string{
	"String": "REG_SZ", "ExpandString": "REG_EXPAND_SZ", "DWord": "REG_DWORD", "QWord": "REG_QWORD", "MultiString": "REG_MULTI_SZ",
}

// regTool is reg.exe; played is `reg query KEY /v NAME`, `reg query KEY /ve`, which is the value without a name, and
// `reg query KEY`, of which it shows the keys below.
func regTool(_ context.Context, call *Call) int {
	args := call.Argv[1:]
	if len(args) == 2 && strings.EqualFold(args[0], "query") {
		return listKeys(call, args[1])
	}
	if len(args) == 3 && strings.EqualFold(args[2], "/ve") {
		args = []string{args[0], args[1], "/v", ""}
	}
	if len(args) != 4 || !strings.EqualFold(args[0], "query") || !strings.EqualFold(args[2], "/v") {
		return call.Fail("ERROR: Invalid syntax.")
	}
	key, name := longKey(args[1]), cmp.Or(args[3], "(Default)")
	value, ok, err := call.Machine.ReadRegistry(key, args[3])
	if err != nil || !ok {
		return call.Fail("ERROR: The system was unable to find the specified registry key or value.")
	}
	call.Print("\r\n%s\r\n    %s    %s    %s\r\n\r\n", key, name, registryTypes[value.Type], printed(value))
	return 0
}

func longKey(key string) string {
	if below, short := strings.CutPrefix(strings.ToUpper(key), `HKLM\`); short {
		return `HKEY_LOCAL_MACHINE\` + key[len(key)-len(below):]
	}
	return key
}

func listKeys(call *Call, key string) int {
	below, err := call.Machine.RegistryKeys(longKey(key))
	if err != nil || len(below) == 0 {
		return call.Fail("ERROR: The system was unable to find the specified registry key or value.")
	}
	call.Print("\r\n%s\r\n", strings.Join(below, "\r\n"))
	return 0
}

func printed(value RegistryValue) string {
	switch value.Type {
	case "DWord", "QWord":
		return fmt.Sprintf("%#x", value.Number)
	case "MultiString":
		return strings.Join(value.List, `\0`)
	}
	return value.Text
}
