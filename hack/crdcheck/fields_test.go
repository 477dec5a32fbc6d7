package main

const at = "Thing v1 spec.a: "

// These are schemas of the field spec.a.
var ofFields = []transition{{
	name: "descriptions are for people",
	old:  `{type: string, description: old, title: old, example: old}`,
	now:  `{type: string, description: new}`,
}, {
	name: "a field that is optional, with rules of its own",
	old:  `{type: object, properties: {b: {type: string}}}`,
	now: `{type: object, properties: {b: {type: string}, c: {type: object, required: [d], properties: {d: {type: string, enum: [D],
	  maxLength: 1, default: D}}, x-kubernetes-validations: [{rule: self.d == 'D'}]}}}`,
	back: []string{"Thing v1 spec.a.c: the field was removed"},
}, {
	name: "a field that is required",
	old:  `{type: object, properties: {b: {type: string}}}`,
	now:  `{type: object, required: [c], properties: {b: {type: string}, c: {type: string}}}`,
	want: []string{"Thing v1 spec.a.c: the field is required now, and objects may lack it"},
	back: []string{"Thing v1 spec.a.c: the field was removed"},
}, {
	name: "a field that becomes required",
	old:  `{type: object, properties: {b: {type: string}}}`,
	now:  `{type: object, required: [b], properties: {b: {type: string}}}`,
	want: []string{"Thing v1 spec.a.b: the field is required now, and objects may lack it"},
}, {
	name: "a field in a list",
	old:  `{type: array, items: {type: object, properties: {b: {type: string, maxLength: 9}}}}`,
	now:  `{type: array, items: {type: object, properties: {b: {type: string, maxLength: 8}}}}`,
	want: []string{"Thing v1 spec.a[].b: maxLength was 9 and is 8"},
}, {
	name: "a value in a map",
	old:  `{type: object, additionalProperties: {type: string, maxLength: 9}}`,
	now:  `{type: object, additionalProperties: {type: string, maxLength: 8}}`,
	want: []string{"Thing v1 spec.a{}: maxLength was 9 and is 8"},
}, {
	name: "a field becomes a map",
	old:  `{type: object, properties: {b: {type: string}}}`,
	now:  `{type: object, additionalProperties: {type: string}}`,
	want: []string{at + `additionalProperties {"type":"string"} is new`, "Thing v1 spec.a.b: the field was removed"},
	back: []string{at + `additionalProperties {"type":"string"} was removed`},
}, {
	name: "a field called description",
	old:  `{type: object, properties: {description: {type: string}}}`,
	now:  `{type: object}`,
	want: []string{"Thing v1 spec.a.description: the field was removed"},
}, {
	name: "another type",
	old:  `{type: string}`,
	now:  `{type: integer, format: int32}`,
	want: []string{at + "type was string and is integer"},
	back: []string{at + "type was integer and is string"},
}, {
	name: "another format",
	old:  `{type: integer, format: int32}`,
	now:  `{type: integer, format: int64}`,
	want: []string{at + "format was int32 and is int64"},
	back: []string{at + "format was int64 and is int32"},
}, {
	name: "a text or a number",
	old:  `{type: string}`,
	now:  `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`,
	want: []string{
		at + `anyOf [{"type":"integer"},{"type":"string"}] is new`, at + "type string was removed",
		at + "x-kubernetes-int-or-string was false and is true",
	},
	back: []string{
		at + `anyOf [{"type":"integer"},{"type":"string"}] was removed`, at + "type string is new",
		at + "x-kubernetes-int-or-string was true and is false",
	},
}, {
	name: "other ways to be valid",
	old:  `{type: object, allOf: [{required: [b]}], oneOf: [{required: [b]}], not: {required: [b]}}`,
	now:  `{type: object, allOf: [{required: [c]}], oneOf: [{required: [c]}], not: {required: [c]}}`,
	want: []string{
		at + `allOf was [{"required":["b"]}] and is [{"required":["c"]}]`,
		at + `not was {"required":["b"]} and is {"required":["c"]}`,
		at + `oneOf was [{"required":["b"]}] and is [{"required":["c"]}]`,
	},
	back: []string{
		at + `allOf was [{"required":["c"]}] and is [{"required":["b"]}]`,
		at + `not was {"required":["c"]} and is {"required":["b"]}`,
		at + `oneOf was [{"required":["c"]}] and is [{"required":["b"]}]`,
	},
}, {
	name: "fields that the schema does not know",
	old:  `{type: object}`,
	now:  `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
	want: []string{at + "x-kubernetes-preserve-unknown-fields was false and is true"},
	back: []string{at + "x-kubernetes-preserve-unknown-fields was true and is false"},
}, {
	name: "a whole object in a field",
	old:  `{type: object}`,
	now:  `{type: object, x-kubernetes-embedded-resource: true}`,
	want: []string{at + "x-kubernetes-embedded-resource was false and is true"},
	back: []string{at + "x-kubernetes-embedded-resource was true and is false"},
}, {
	name: "null",
	old:  `{type: string, nullable: false}`,
	now:  `{type: string, nullable: true}`,
	want: []string{at + "nullable was false and is true"},
	back: []string{at + "nullable was true and is false"},
}, {
	name: "who owns a list's items",
	old:  `{type: array, items: {type: string}}`,
	now:  `{type: array, items: {type: string}, x-kubernetes-list-type: set}`,
	want: []string{at + "x-kubernetes-list-type was atomic and is set"},
	back: []string{at + "x-kubernetes-list-type was set and is atomic"},
}, {
	name: "what tells a list's items apart",
	old:  `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}`,
	now:  `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, kind]}`,
	want: []string{at + `x-kubernetes-list-map-keys was ["name"] and is ["name","kind"]`},
	back: []string{at + `x-kubernetes-list-map-keys was ["name","kind"] and is ["name"]`},
}, {
	name: "an absent list type is atomic, an absent map type granular",
	old:  `{type: object, properties: {b: {type: array}, c: {type: object}}}`,
	now: `{type: object, properties: {b: {type: array, x-kubernetes-list-type: atomic}, c: {type: object,
	  x-kubernetes-map-type: granular}}}`,
}, {
	name: "who owns an object's fields",
	old:  `{type: object}`,
	now:  `{type: object, x-kubernetes-map-type: atomic}`,
	want: []string{at + "x-kubernetes-map-type was granular and is atomic"},
	back: []string{at + "x-kubernetes-map-type was atomic and is granular"},
}, {
	name: "a value of an enum",
	old:  `{type: string, enum: [A, B]}`,
	now:  `{type: string, enum: [C, B, A]}`,
	back: []string{at + "enum has lost C"},
}, {
	name: "an enum",
	old:  `{type: string}`,
	now:  `{type: string, enum: [A, B]}`,
	want: []string{at + `enum ["A","B"] is new: the field had any value`},
}, {
	name: "limits of a text",
	old:  `{type: string, minLength: 1, maxLength: 10}`,
	now:  `{type: string, minLength: 2, maxLength: 9}`,
	want: []string{at + "maxLength was 10 and is 9", at + "minLength was 1 and is 2"},
}, {
	name: "limits of a list",
	old:  `{type: array, minItems: 1, maxItems: 10, uniqueItems: false}`,
	now:  `{type: array, minItems: 2, maxItems: 9, uniqueItems: true}`,
	want: []string{at + "maxItems was 10 and is 9", at + "minItems was 1 and is 2", at + "uniqueItems was false and is true"},
}, {
	name: "limits of an object",
	old:  `{type: object, minProperties: 1, maxProperties: 10}`,
	now:  `{type: object, minProperties: 2, maxProperties: 9}`,
	want: []string{at + "maxProperties was 10 and is 9", at + "minProperties was 1 and is 2"},
}, {
	name: "limits of a number",
	old:  `{type: integer, minimum: -1, maximum: 10}`,
	now:  `{type: integer, minimum: 0, maximum: 10, exclusiveMinimum: true, exclusiveMaximum: true, multipleOf: 2}`,
	want: []string{
		at + "exclusiveMaximum true is new", at + "exclusiveMinimum true is new", at + "minimum was -1 and is 0",
		at + "multipleOf 2 is new",
	},
}, {
	name: "limits where there were none",
	old:  `{type: object, properties: {b: {type: string}, c: {type: integer}}}`,
	now: `{type: object, minProperties: 0, properties: {b: {type: string, minLength: 1, maxLength: 5},
	  c: {type: integer, minimum: 0}}}`,
	want: []string{
		"Thing v1 spec.a.b: maxLength 5 is new", "Thing v1 spec.a.b: minLength was 0 and is 1", "Thing v1 spec.a.c: minimum 0 is new",
	},
}, {
	name: "a pattern",
	old:  `{type: string}`,
	now:  `{type: string, pattern: "^a$"}`,
	want: []string{at + "pattern ^a$ is new"},
}, {
	name: "another pattern",
	old:  `{type: string, pattern: "^a$"}`,
	now:  `{type: string, pattern: "^[ab]$"}`,
	want: []string{at + "pattern was ^a$ and is ^[ab]$"},
	back: []string{at + "pattern was ^[ab]$ and is ^a$"},
}, {
	name: "a rule",
	old:  `{type: string, x-kubernetes-validations: [{rule: self != 'a', message: old}]}`,
	now:  `{type: string, x-kubernetes-validations: [{rule: self != 'b'}, {rule: self != 'a', message: new, fieldPath: .a}]}`,
	want: []string{at + "the rule is new or was changed: self != 'b'"},
}, {
	name: "a rule with another text",
	old:  `{type: string, x-kubernetes-validations: [{rule: self.size() < 9}]}`,
	now:  `{type: string, x-kubernetes-validations: [{rule: self.size() < 8}]}`,
	want: []string{at + "the rule is new or was changed: self.size() < 8"},
	back: []string{at + "the rule is new or was changed: self.size() < 9"},
}, {
	name: "a rule that judges new objects, too",
	old:  `{type: string, x-kubernetes-validations: [{rule: self != 'a'}]}`,
	now:  `{type: string, x-kubernetes-validations: [{rule: self != 'a', optionalOldSelf: true}]}`,
	want: []string{at + "the rule is new or was changed: self != 'a' (also for new objects)"},
	back: []string{at + "the rule is new or was changed: self != 'a'"},
}, {
	name: "a default",
	old:  `{type: integer}`,
	now:  `{type: integer, default: 0}`,
	want: []string{at + "default 0 is new"},
	back: []string{at + "default 0 was removed"},
}, {
	name: "another text in a default",
	old:  `{type: object, default: {message: a}}`,
	now:  `{type: object, default: {message: b}}`,
}, {
	name: "another default",
	old:  `{type: integer, default: 1}`,
	now:  `{type: integer, default: 2}`,
	want: []string{at + "default was 1 and is 2"},
	back: []string{at + "default was 2 and is 1"},
}, {
	name: "a keyword that is not in the tables",
	old:  `{type: string}`,
	now:  `{type: string, x-kubernetes-next: true}`,
	want: []string{at + "crdcheck does not know the keyword x-kubernetes-next: say in hack/crdcheck/tables.go what may change"},
	back: []string{at + "crdcheck does not know the keyword x-kubernetes-next: say in hack/crdcheck/tables.go what may change"},
}}
