// Command manager runs the controllers of Cluster API Provider Windows.
package main

import "github.com/capwin/cluster-api-provider-windows/internal/manager"

func main() { manager.Main() }
