# What Calico's operator needs before it makes its DaemonSet for Windows.
# Run this against the cluster of the pool, not against the management cluster.
# Nothing is missing.
