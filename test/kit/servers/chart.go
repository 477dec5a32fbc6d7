package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CloudProviderChart is the chart of the cloud controller manager for vSphere.
const CloudProviderChart = "vsphere-cpi"

// Chart returns the path of a chart's archive, as its project has published it, and the chart's version. The folder above its own
// has the index of the project's repository. There is CloudProviderChart.
func Chart(ctx context.Context, name string) (path, version string, err error) {
	if name != CloudProviderChart {
		return "", "", fmt.Errorf("find chart %s: there is only %s", name, CloudProviderChart)
	}
	tools, err := findTools()
	if err != nil {
		return "", "", err
	}
	release, err := tools.version(cloudModule)
	if err != nil {
		return "", "", err
	}
	source, err := tools.sourceOf(ctx, cloudModule)
	if err != nil {
		return "", "", err
	}
	version = strings.TrimPrefix(release, "v")
	path = filepath.Join(source, "charts", name+"-"+version+".tgz")
	if _, err := os.Stat(path); err != nil {
		return "", "", fmt.Errorf("find chart: %w", err)
	}
	return path, version, nil
}
