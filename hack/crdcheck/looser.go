package main

// looser are rules and patterns of released fields that changed, and that accept all that they accepted before. crdcheck cannot
// know that of a rule, so a person says why: "the line that crdcheck prints": "the reason". A line is removed when a release has
// the rule. For example, a third cloud changes the rule that demands exactly one of two.
var looser = map[string]string{}
