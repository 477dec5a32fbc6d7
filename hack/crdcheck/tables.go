package main

// The tables have every keyword of a CRD, and what of it must stay. One without a check may change: it is written for people, or
// an API server does not accept it in a CRD. A test compares the tables with Kubernetes' types.

var ofDefinition = table{
	"apiVersion": {check: fixed},
	"kind":       {check: fixed},
	"metadata":   {},
	"spec":       {check: in(ofSpec)},
	"status":     {},
}

var ofSpec = table{
	"group":                 {check: fixed},
	"names":                 {check: in(ofNames)},
	"scope":                 {check: fixed},
	"versions":              {check: versions},
	"conversion":            {check: fixed},
	"preserveUnknownFields": {check: fixed, implied: false},
}

var ofNames = table{
	"plural":     {check: fixed},
	"singular":   {check: fixed},
	"kind":       {check: fixed},
	"listKind":   {check: fixed},
	"shortNames": {check: grown},
	"categories": {check: grown},
}

var ofVersion = table{
	"name":                     {}, // by which the two were found
	"served":                   {check: served},
	"storage":                  {check: fixed, implied: false},
	"schema":                   {check: in(table{"openAPIV3Schema": {check: in(ofSchema)}})},
	"subresources":             {check: fixed},
	"selectableFields":         {check: grown},
	"additionalPrinterColumns": {},
	"deprecated":               {},
	"deprecationWarning":       {},
}

var ofSchema = table{
	"type":     {check: fixed},
	"format":   {check: fixed},
	"nullable": {check: fixed, implied: false},
	"default":  {check: fixed},

	"x-kubernetes-int-or-string":           {check: fixed, implied: false},
	"x-kubernetes-preserve-unknown-fields": {check: fixed, implied: false},
	"x-kubernetes-embedded-resource":       {check: fixed, implied: false},
	"x-kubernetes-list-type":               {check: fixed, implied: "atomic"},
	"x-kubernetes-list-map-keys":           {check: fixed},
	"x-kubernetes-map-type":                {check: fixed, implied: "granular"},

	"properties":           {check: fields},
	"items":                {check: under("[]")},
	"additionalProperties": {check: under("{}")},
	"required":             {check: required},

	"enum":                     {check: allowed},
	"pattern":                  {check: argued},
	"x-kubernetes-validations": {check: rules},
	"maxLength":                {check: raised},
	"maxItems":                 {check: raised},
	"maxProperties":            {check: raised},
	"maximum":                  {check: raised},
	"minLength":                {check: lowered, implied: 0.0},
	"minItems":                 {check: lowered, implied: 0.0},
	"minProperties":            {check: lowered, implied: 0.0},
	"minimum":                  {check: lowered},
	"multipleOf":               {check: loosened},
	"exclusiveMaximum":         {check: loosened},
	"exclusiveMinimum":         {check: loosened},
	"uniqueItems":              {check: loosened},
	"allOf":                    {check: fixed},
	"anyOf":                    {check: fixed},
	"oneOf":                    {check: fixed},
	"not":                      {check: fixed},

	"title":        {},
	"description":  {},
	"example":      {},
	"externalDocs": {},

	"id":                {},
	"$schema":           {},
	"$ref":              {},
	"additionalItems":   {},
	"patternProperties": {},
	"dependencies":      {},
	"definitions":       {},
}
