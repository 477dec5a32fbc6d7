// Stands in for the module by which programs speak with HNS: see hcn/hcn.go.
module github.com/Microsoft/hcsshim

go 1.25
