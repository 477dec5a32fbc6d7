package bootstrap

import (
	"regexp"
	"strings"
)

// plainPath is a path on drive C: that Windows takes as it stands: no stream, no device, no part that ends in a dot or
// blank.
var plainPath = regexp.MustCompile(`^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\]*[^\x00-\x1f<>:"|?*/\\. ])+$`)

// ownPlaces are written by us, kubeadm or the agent, and by nobody else.
var ownPlaces = []string{
	joinDirectory, ownDirectory, kubernetesDirectory, kubeletKeys, kubeletDirectory + `\config.yaml`,
	`C:\ProgramData\capwin`, `C:\run\cluster-api`, certsDirectory, dropInsDirectory, azureConfigFile, toolsConfFile,
}

// checkPath refuses what Windows would not take, or what is ours.
func checkPath(field, path string) error {
	if !plainPath.MatchString(path) || len(path) > 240 {
		return invalid(field, `%q is no plain path on drive C:; write one such as C:\etc\app.conf, without wildcards and ".."`, path)
	}
	for _, own := range ownPlaces {
		if below(path, own) {
			return invalid(field, "%q is below %s, which is not for users; write another folder", path, own)
		}
	}
	return nil
}

// below says whether a path is a place or in it. Windows does not tell small from capital letters.
func below(path, place string) bool {
	path, place = strings.ToLower(path), strings.ToLower(place)
	return path == place || strings.HasPrefix(path, place+`\`)
}
