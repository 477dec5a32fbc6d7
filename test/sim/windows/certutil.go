package windows

import (
	"context"
	"crypto/sha1" //nolint:gosec // because Windows names certificates by it
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
)

// rootsKey is where Windows keeps the CAs that it trusts, each by its thumbprint.
const rootsKey = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\SystemCertificates\ROOT\Certificates`

// certutilTool is certutil.exe; played is `certutil -f -addstore Root FILE`.
func certutilTool(_ context.Context, call *Call) int {
	args := slices.DeleteFunc(slices.Clone(call.Argv[1:]), func(arg string) bool { return strings.EqualFold(arg, "-f") })
	if len(args) != 3 || !strings.EqualFold(args[0], "-addstore") || !strings.EqualFold(args[1], "Root") {
		return call.Fail("CertUtil: Unknown arg: %s", strings.Join(args, " "))
	}
	text, err := call.Machine.ReadFile(args[2])
	if err != nil {
		call.Print("CertUtil: -addstore command FAILED: 0x80070002 (WIN32: 2 ERROR_FILE_NOT_FOUND)")
		return errFileNotFound
	}
	block, _ := pem.Decode(text)
	if block == nil {
		call.Print("CertUtil: -addstore command FAILED: 0x80092009 (-2146885623 CRYPT_E_NO_MATCH)")
		return -2146885623
	}
	sum := sha1.Sum(block.Bytes) //nolint:gosec // because Windows names certificates by it
	thumbprint := strings.ToUpper(hex.EncodeToString(sum[:]))
	if err := call.Machine.WriteRegistry(rootsKey+`\`+thumbprint, "Blob", Text(hex.EncodeToString(block.Bytes))); err != nil {
		call.Print("CertUtil: -addstore command FAILED: 0x80070005 (WIN32: 5 ERROR_ACCESS_DENIED)")
		return -2147024891
	}
	call.Print("Certificate added to store.\nCertUtil: -addstore command completed successfully.")
	return 0
}
