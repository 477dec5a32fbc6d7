package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"
)

// Admit checks the objects of our kinds and of Cluster API's as an API server would that is asked for strict validation, with
// its own code: unknown fields, types, limits, patterns and rules; and then as Cluster API's webhooks do. Objects of an older
// version are converted as Cluster API does. It returns all errors at once.
func (s *Set) Admit() error {
	var refused []error // the objects must not be used after an error
	for i, one := range s.All {
		if len(refused) == mostRefused {
			return errors.Join(append(refused, fmt.Errorf("and perhaps more: these were the first %d objects", mostRefused))...)
		}
		rules, err := rulesOf(one.Version.WithKind(one.Kind))
		if err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", one, err))
			continue
		}
		if rules == nil {
			if err := admitOther(one); err != nil {
				refused = append(refused, err)
			}
			continue
		}
		if s.All[i], err = rules.admit(one); err != nil {
			refused = append(refused, err)
		}
	}
	return errors.Join(refused...)
}

// mostRefused objects are told of at once: a file of anybody may have any number.
const mostRefused = 20

// admitOther checks an object without a schema here. Of another provider's kinds nothing is known, and another version Decode
// refuses, if the object is needed.
func admitOther(one Object) error {
	var err error
	switch one.Version.WithKind(one.Kind) {
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		var secret *corev1.Secret
		if secret, err = Decode[corev1.Secret](one); err == nil {
			err = checkType(one, secret)
		}
	case corev1.SchemeGroupVersion.WithKind("ConfigMap"):
		_, err = Decode[corev1.ConfigMap](one)
	}
	return err
}

// typedKeys are those that an API server wants of a Secret of a type of its own (k8s.io/kubernetes, ValidateSecret); of the last
// type it wants one of two.
var typedKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeTLS: {corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, corev1.SecretTypeSSHAuth: {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeDockercfg: {corev1.DockerConfigKey}, corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeBasicAuth: {corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey},
}

func checkType(one Object, secret *corev1.Secret) error {
	var missing []error
	for _, key := range typedKeys[secret.Type] {
		_, there := secret.Data[key]
		_, too := secret.StringData[key]
		if !there && !too {
			missing = append(missing, fmt.Errorf("%s: data[%s]: is missing, and a Secret of the type %s must have it; add it, or leave "+
				"type out", one, key, secret.Type))
		}
	}
	if secret.Type == corev1.SecretTypeBasicAuth && len(missing) == 1 {
		return nil
	}
	return errors.Join(missing...)
}

// The limits on the cost of rules are those of an API server.
const (
	oneRuleCost  = 1_000_000
	allRulesCost = 10_000_000
)

// kindRules has the schema and rules of one kind, from its CRD.
type kindRules struct {
	structural *structuralschema.Structural
	limits     validation.SchemaValidator
	rules      *cel.Validator
	// foreign is true for a kind of Cluster API.
	foreign bool
	// ofClass is true for a variable of a ClusterClass.
	ofClass bool
}

// admit returns the object with its defaults set, in the version that is used here.
func (k *kindRules) admit(one Object) (Object, error) {
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(one.Data, &content); err != nil {
		return one, explain(one, err)
	}
	if k.foreign {
		// An API server takes no status from a user, that of a newer Cluster API has more fields, and nothing here needs it.
		delete(content, "status")
	}
	if wrong := k.unknown(one, content); wrong != nil {
		return one, wrong
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(content, k.structural)
	defaulting.Default(content, k.structural)
	filled, unread := fill(one, content)
	if unread == nil {
		content = filled
	}
	refused := slices.Concat(validation.ValidateCustomResource(nil, content, k.limits), checkScale(one, content),
		listtype.ValidateListSetsAndMaps(nil, k.structural, content))
	if unread != nil { // then nobody has set the defaults either, and a field that has one is not missing
		refused = slices.DeleteFunc(refused, func(why *field.Error) bool { return why.Type == field.ErrorTypeRequired })
	}
	if limits := slices.DeleteFunc(slices.Clone(refused), saysFormat); len(limits) > 0 {
		refused = limits
	}
	if len(refused) == 0 {
		// As in the API server, rules run only on an object within the limits.
		refused, _ = k.rules.Validate(context.Background(), nil, k.structural, content, nil, allRulesCost)
	}
	if len(refused) == 0 && unread != nil {
		return one, explainUnreadable(one, unread)
	}
	if len(refused) == 0 {
		return k.ask(one, content)
	}
	slices.SortStableFunc(refused, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	lines := sentences{of: one}
	for _, why := range refused {
		lines.add(why.Field, func() string { return k.words(why, content) })
	}
	return one, lines.err(content)
}

// saysFormat is about a number that does not fit into 32 bits. Most such fields have a limit, with a better sentence.
func saysFormat(why *field.Error) bool {
	return strings.HasPrefix(why.Detail, "Checked value must be of type")
}

// fill has the mutating webhook set its defaults. What it cannot read is mostly refused by the schema, in better words.
func fill(one Object, content map[string]any) (map[string]any, error) {
	hooks := webhooksOf(one)
	if hooks == nil {
		return content, nil
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return hooks.fill(one.Version.Version, data)
}

// ask has the validating webhook look at an object that the API server would send to it.
func (k *kindRules) ask(one Object, content map[string]any) (Object, error) {
	data, err := json.Marshal(content)
	hooks := webhooksOf(one)
	if err != nil || hooks == nil {
		one.Data = data
		return one, err
	}
	data, refused, err := hooks.admit(one.Version.Version, data)
	switch {
	case err != nil:
		return one, explainUnreadable(one, err)
	case len(refused) > 0:
		return one, k.explainRefusal(one, content, refused)
	}
	one.Version, one.Data = clusterv1.GroupVersion, data
	return one, nil
}

// unknown refuses fields that the schema does not know or whose values have another type, and checks the metadata.
func (k *kindRules) unknown(one Object, content map[string]any) error {
	written := runtime.DeepCopyJSON(content) // what is unknown goes from the content
	wrong := mismatches(written, k.structural, "")
	fields := pruning.PruneWithOptions(content, k.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	meta, found, more, err := objectmeta.GetObjectMetaWithOptions(content,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return explainAt(one, "metadata", err)
	}
	if !found {
		meta = &metav1.ObjectMeta{}
	}
	fields = append(fields, more...)
	lines := sentences{of: one}
	for _, path := range fields {
		if !inside(path, wrong) {
			lines.add(path, func() string { return k.unknownField(one, written, path) })
		}
	}
	for _, found := range wrong {
		lines.add(found.path, found.words)
	}
	meta.Namespace = one.Key.Namespace
	for _, why := range apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		lines.add(why.Field, func() string { return k.words(why, written) })
	}
	return lines.err(written)
}
