// Package placement keeps workloads for Linux off the Windows Nodes of workload clusters, by admission objects of ours there, and
// tells of those that may come there all the same. No workload of anybody's is written.
package placement
