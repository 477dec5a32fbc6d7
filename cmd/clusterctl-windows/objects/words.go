package objects

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// words describes what is wrong with a field, what it has, and what it must have. It shows a text of the object only if that is
// no secret.
func (k *kindRules) words(refusal *field.Error, content map[string]any) string {
	if _, path, ok := strings.Cut(refusal.Detail, "Checked value must be of type integer with format int32 in "); ok {
		return join(path, "is "+shown(path, valueAt(content, path))+", but must be from -2147483648 to 2147483647")
	}
	detail := WithoutPattern(strings.TrimPrefix(refusal.Detail, refusal.Field+" in body "))
	value := valueAt(content, refusal.Field)
	text := shown(refusal.Field, value)
	switch refusal.Type {
	case field.ErrorTypeRequired:
		return join(refusal.Field, "is missing", cmp.Or(detail, "set it"))
	case field.ErrorTypeTypeInvalid:
		if format := formatWords[typeIn(detail)]; format != "" {
			return join(refusal.Field, cmp.Or(text, "the text")+" is not "+format)
		}
		return join(refusal.Field, "must be "+wordOf(typeIn(detail))+", not "+wordOf(fmt.Sprint(refusal.BadValue)))
	case field.ErrorTypeNotSupported:
		_, supported, _ := strings.Cut(refusal.Detail, ": ")
		choices := enumOf(schemaAt(k.structural, refusal.Field))
		return join(refusal.Field, "must be one of "+supported+ofFew(refusal.Field, value, choices))
	case field.ErrorTypeDuplicate:
		return join(refusal.Field, "is listed twice, remove one", detail)
	}
	if pattern, ok := strings.CutPrefix(detail, "should match "); ok {
		if group := withoutVersion(refusal.Field, value); group != "" {
			return join(refusal.Field, "is a group with a version", "write "+group)
		}
		form := "does not have the form that it must have"
		if text != "" {
			form = "is " + text + ", which " + form
		}
		return join(refusal.Field, form, cmp.Or(patternWords[strings.Trim(pattern, "'")], k.describe(refusal.Field, pattern)))
	}
	if refusal.Type != field.ErrorTypeInvalid {
		return join(refusal.Field, refusal.Type.String(), text, detail, shorter(refusal.Field, value))
	}
	if fields, ok := value.(map[string]any); ok {
		if text = k.fieldsIn(detail, refusal.Field, fields); text != "" {
			text = "has " + text
		}
		return join(refusal.Field, text, detail)
	}
	if text == "" {
		return join(refusal.Field, detail)
	}
	if parent, name := apart(refusal.Field); name == "cni" {
		text += besideMode(parent, content)
	}
	return join(refusal.Field, "is "+text+", but "+detail+otherValue(detail, content)+inLargerUnits(refusal.Field, value))
}

// withoutVersion is the group of an apiVersion that stands where a group must.
func withoutVersion(path string, value any) string {
	text, _ := value.(string)
	group, _, isVersion := strings.Cut(text, "/")
	if _, name := apart(path); name == "apiGroup" && isVersion && plainGroup.MatchString(group) {
		return group
	}
	return ""
}

// shorter returns what to write instead of an ID of Azure, or of a part of one.
func shorter(path string, value any) string {
	text, _ := value.(string)
	parent, name := apart(path)
	switch {
	case name == "name" && strings.HasPrefix(text, "/subscriptions/"):
		return "it is an ID: write it to " + parent + ".id"
	case strings.HasPrefix(text, "/subscriptions/"):
		return "write the last part of it alone"
	case strings.HasPrefix(name, "zones["):
		return `write the number alone, such as ["1"]`
	}
	return ""
}

// besideMode shows the mode that a CNI does not fit.
func besideMode(network string, content map[string]any) string {
	if mode := shown(network+".mode", valueAt(content, network+".mode")); mode != "" {
		return " with the mode " + mode
	}
	return ""
}

// otherValue shows what stands in the other field of a pair that must be the same.
func otherValue(detail string, content map[string]any) string {
	const pair = "spec.template.spec.clusterName"
	if text := shown(pair, valueAt(content, pair)); strings.Contains(detail, pair) && text != "" {
		return ", and the second is " + text
	}
	return ""
}

// fieldsIn lists those fields of an object that a sentence names: they are at odds.
func (k *kindRules) fieldsIn(sentence, path string, fields map[string]any) string {
	node := schemaAt(k.structural, path)
	if node == nil {
		return ""
	}
	return joinAnd(slices.DeleteFunc(fieldsOf(node, fields), func(name string) bool {
		return !regexp.MustCompile(`\b` + name + `\b`).MatchString(sentence)
	}))
}

// ofFew describes the word that a field with a few choices has, and suggests the choice that was meant, or explains why there is
// no such choice.
func ofFew(path string, value any, choices []string) string {
	text, _ := value.(string)
	name := indexes.ReplaceAllString(path[strings.LastIndex(path, ".")+1:], "")
	for word, reason := range otherWords {
		if strings.EqualFold(word, name+" "+text) {
			return fmt.Sprintf(", not %q: %s", text, reason)
		}
	}
	if meant := Nearest(strings.TrimRight(text, `:\`), choices); meant != "" {
		return fmt.Sprintf(", not %q; did you mean %s?", text, meant)
	}
	if text = shown(path, value); text != "" {
		return ", not " + text
	}
	return ""
}

// otherWords are values that users know from elsewhere, by the field, and why they are not valid here.
var otherWords = map[string]string{
	"mode L2Tunnel": "Azure CNI dropped it in 2024 and makes an L2Bridge instead; write L2Bridge",
	"mode NAT": "it hides pods behind the address of their node, but Kubernetes requires that other nodes reach them; " +
		"write Overlay, or L2Bridge",
	"mode Bridge":  "the network of this kind is L2Bridge in Windows; write L2Bridge",
	"mode VXLAN":   "the network of this kind is Overlay in Windows; write Overlay",
	"cni Cilium":   "Cilium does not run on Windows; write Calico or Flannel, and use it for the Linux nodes as well",
	"type Windows": "write PowerShell or Cmd",
	"kind VSphereClusterIdentity": "the manager reads the login itself; write kind: Secret, and the name of a Secret with server, " +
		"username, password and thumbprint",
	"type PremiumSSD":    "write Premium_LRS",
	"type Premium":       "write Premium_LRS",
	"type StandardSSD":   "write StandardSSD_LRS",
	"type PremiumV2_LRS": "no system can be on such a disk; write Premium_LRS",
	"type UltraSSD_LRS":  "no system can be on such a disk; write Premium_LRS",
	"letter C":           "Windows itself is on it; write another one",
}

var (
	ofBytes = regexp.MustCompile(`(?i)(memory|storage|available)$`)
	digits  = regexp.MustCompile(`^\d{1,6}$`)
)

// inLargerUnits shows a number in the next larger unit: a number far too small was most likely meant in that.
func inLargerUnits(path string, value any) string {
	if number, ok := value.(int64); ok && strings.HasSuffix(path, "MiB") && number > 3 {
		switch {
		case number < 1024:
			return fmt.Sprintf("; %d GiB are %d", number, number<<10)
		case number >= 1<<30:
			return fmt.Sprintf("; %d bytes are %d", number, number>>20)
		}
	}
	if text := fmt.Sprint(value); ofBytes.MatchString(path) && digits.MatchString(text) {
		return fmt.Sprintf("; without a unit these are bytes, so write %sMi or %sGi", text, text)
	}
	return ""
}

var patternInWords = regexp.MustCompile(`, regex used for validation is '.*?'\)`)

// WithoutPattern removes the regular expression that Kubernetes adds to a sentence with the same meaning.
func WithoutPattern(text string) string { return patternInWords.ReplaceAllString(text, ")") }

// join puts a colon behind the first text and semicolons between the others; empty ones are left out.
func join(path string, texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	if path == "" || path == "<nil>" {
		return strings.Join(texts, "; ")
	}
	return path + ": " + strings.Join(texts, "; ")
}

var ofType = regexp.MustCompile(`must be of type ([\w-]+)`)

// typeIn returns the type that a schema wants.
func typeIn(detail string) string {
	if found := ofType.FindStringSubmatch(detail); found != nil {
		return found[1]
	}
	return ""
}

// typeWords are the types of JSON and of its schemas, as a user calls them.
var typeWords = map[string]string{
	"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "bool": "true or false",
	"object": "an object with fields", "array": "a list", "null": "nothing",
}

// formatWords are the formats of texts that schemas have.
var formatWords = map[string]string{
	"ipv4": "an IPv4 address, such as 192.0.2.10", "ipv6": "an IPv6 address, such as 2001:db8::1",
	"cidr": "a network, such as 10.0.0.0/16", "hostname": "a host name", "uri": "a URL", "email": "an address of mail",
	"uuid": "a UUID", "mac": "a MAC address", "duration": "a duration, such as 5m", "date": "a date, such as 2026-01-31",
	"date-time": "a time, such as 2026-01-31T12:00:00Z", "byte": "base64",
}

func wordOf(kind string) string {
	if word := typeWords[kind]; word != "" {
		return word
	}
	return "of another type"
}

// describe returns the API's description of a field with a pattern; few readers understand the pattern alone.
func (k *kindRules) describe(path, pattern string) string {
	text := strings.Join(strings.Fields(describedAt(k.structural, strings.Split(path, "."))), " ")
	if text == "" && k.ofClass {
		text = "by its ClusterClass it matches " + pattern
	} else if text == "" {
		text = "see the documentation of this field with kubectl explain; it matches " + pattern
	}
	return text
}

var indexes = regexp.MustCompile(`\[[^\]]*\]`)

// describedAt returns the description of the deepest part of a path that has one and a pattern.
func describedAt(node *structuralschema.Structural, path []string) string {
	if node == nil {
		return ""
	}
	if len(path) > 0 {
		name := indexes.ReplaceAllString(path[0], "")
		if next, ok := node.Properties[name]; ok {
			return describedIn(&next, path)
		}
		if node.AdditionalProperties != nil {
			return describedIn(node.AdditionalProperties.Structural, path)
		}
	}
	return node.Description
}

// describedIn goes on in the items of a list if the path has an index. An item without a description has that of its list.
func describedIn(next *structuralschema.Structural, path []string) string {
	text := next.Description
	if indexes.MatchString(path[0]) && next.Items != nil {
		next = next.Items
	}
	if deeper := describedAt(next, path[1:]); deeper != "" {
		text = deeper
	}
	return text
}

// explain explains why an object cannot be decoded, in the words of its fields.
func explain(object Object, err error) error { return explainAt(object, "", err) }

func explainAt(object Object, prefix string, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		path := strings.Trim(prefix+"."+wrong.Field, ".")
		actual, _, _ := strings.Cut(wrong.Value, " ")
		if wrong.Type.Kind() == reflect.Uint8 { // of a list, which bytes may be, too
			return fmt.Errorf("%s: %s", object, join(path, "must be a text in base64, not a list"))
		}
		text := "must be " + wordOfGo(wrong.Type) + ", not " + wordOf(actual)
		return fmt.Errorf("%s: %s", object, join(path, text, inQuotes(wrong.Type, actual)))
	}
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		if object.Kind == "ConfigMap" {
			return fmt.Errorf("%s: a value of binaryData is not base64; write plain text to data", object)
		}
		return fmt.Errorf("%s: data%s is not base64; write plain text to stringData", object, notBase64(object))
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok { // which shows the text and the form that Go wants
		return fmt.Errorf("%s: %s", object, join(prefix, "a text is not "+formatWords["date-time"]))
	}
	return fmt.Errorf("%s: %w", object, err)
}

// inQuotes describes how to write a number or a boolean as a text.
func inQuotes(want reflect.Type, actual string) string {
	if want.Kind() == reflect.String && (actual == "number" || actual == "bool") {
		return "write it in quotes"
	}
	return ""
}

func wordOfGo(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		if kind.Elem().Kind() == reflect.Uint8 {
			return "a text in base64"
		}
		return "a list"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "an object with fields"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number that is not too large"
}

// notBase64 returns the keys of a Secret whose values are not base64, each behind a dot. A key that no Secret can have is not
// shown.
func notBase64(secret Object) string {
	var read struct {
		Data map[string]string `json:"data"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(secret.Data, &read) != nil {
		return ".KEY"
	}
	var keys []string
	for key, text := range read.Data {
		if _, err := base64.StdEncoding.DecodeString(text); err != nil && len(validation.IsConfigMapKey(key)) == 0 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return "." + strings.Join(keys[:min(len(keys), mostItems)], ", data.")
}
