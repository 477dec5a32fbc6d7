// Package service stands in for that of Kubernetes, which answers Windows' service manager.
package service

func InitService(string) error { return nil }
