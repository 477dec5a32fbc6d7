//go:build cloudbaseinit

package cloudbaseinit

import (
	"bytes"
	"strings"
)

// What user data can be taken for. The words of formats are those of the lab's log.
const (
	powershell64 = "a PowerShell script"
	powershell32 = "a PowerShell script of 32 bits"
	batchFile    = "a batch file"
	pythonScript = "a Python script"
	bashScript   = "a bash script"
	ec2Config    = "EC2Config tags"
	multipart    = "a MIME message"
	jinja        = "a jinja template"
	cloudConfig  = "a cloud-config"
	certificate  = "a certificate"
	unsupported  = "nothing it knows"
	none         = "no user data"
	raised       = "an exception, and it is tried again at every boot"
	noMetadata   = "no metadata service, so nothing is done"
	crashed      = "a crash of cloudbase-init"
)

// verdict is what became of a guest.
type verdict struct {
	// Taken is what the user data were taken for.
	Taken string
	// Computer is the new name, empty where it stayed the image's.
	Computer string
	// Again is that the user data run at every boot.
	Again bool
}

// userDataRuns is a line of every boot in which they were not done with.
const userDataRuns = "Executing plugin 'UserDataPlugin'"

// saying are lines of the real log that decide, before programs are looked at.
var saying = []struct{ line, means string }{
	{"No metadata service found", noMetadata},
	{"plugin 'UserDataPlugin' failed with error", raised},
	{"Using template engine: jinja", jinja},
	{" Processing userdata", multipart},
	{"Running cloud-config runcmd entries", cloudConfig},
	{"Found X509 certificate in userdata", certificate},
	{"Unsupported user_data format", unsupported},
}

// judge reads what the real cloudbase-init did with user data, unpacked as they were meant.
func judge(o outcome, userData []byte) verdict {
	v := verdict{Taken: taken(o, userData), Again: strings.Contains(o.last().Log, userDataRuns)}
	if name := o.last().ComputerName; name != imageName {
		v.Computer = name
	}
	return v
}

func taken(o outcome, userData []byte) string {
	for _, b := range o.Boots {
		if b.Error != "" {
			return crashed
		}
	}
	said := o.said()
	for _, s := range saying {
		if strings.Contains(said, s.line) {
			return s.means
		}
	}
	switch all := o.processes(); {
	case len(all) > 0 && bytes.Equal(all[0].Script, userData):
		return interpreter(all[0])
	case strings.Contains(said, "User_data script ended"):
		return ec2Config // whose tags are cut out of the user data, if there is anything between them
	default:
		return none
	}
}

// interpreter that runs a script.
func interpreter(p process) string {
	for _, one := range []struct{ has, means string }{
		{`C:\Windows\system32\WindowsPowerShell`, powershell64},
		{`C:\Windows\syswow64\WindowsPowerShell`, powershell32},
		{"python", pythonScript},
		{"bash", bashScript},
	} {
		if strings.HasPrefix(p.Args[0], one.has) {
			return one.means
		}
	}
	if p.Shell && strings.HasSuffix(p.Args[0], ".cmd") {
		return batchFile
	}
	return strings.Join(p.Args, " ")
}
