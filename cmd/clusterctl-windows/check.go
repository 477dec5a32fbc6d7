package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/check"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
)

// errCheckFailed ends the program with exitRefused; the table has said why.
var errCheckFailed = errors.New("a machine of this spec cannot be made: see what failed above")

func compare(files *objects.Set, o options, s streams) error {
	target, err := check.Gather(files, o.what, o.machine, check.Options{AzureCloud: o.azureCloud, AzureClouds: o.azureClouds})
	if err != nil {
		return err
	}
	found, err := target.Run(context.Background())
	if found == nil && err != nil {
		found, err = []cloud.Finding{{Check: "credentials", Result: cloud.CheckFailed, Text: err.Error()}}, nil
	}
	check.Write(s.out, found)
	if err != nil {
		fmt.Fprintf(s.err, "note: the session at the vCenter may be open until it ends by itself: %v\n", err)
	}
	for _, f := range found {
		if f.Result == cloud.CheckFailed {
			return errCheckFailed
		}
	}
	return nil
}
