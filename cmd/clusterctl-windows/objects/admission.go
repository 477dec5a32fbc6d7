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
	for i, object := range s.Items {
		if len(refused) == mostRefused {
			return errors.Join(append(refused, fmt.Errorf("and perhaps more: these were the first %d objects", mostRefused))...)
		}
		rules, err := rulesOf(object.Version.WithKind(object.Kind))
		if err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", object, err))
			continue
		}
		if rules == nil {
			if err := admitOther(object); err != nil {
				refused = append(refused, err)
			}
			continue
		}
		if s.Items[i], err = rules.admit(object); err != nil {
			refused = append(refused, err)
		}
	}
	return errors.Join(refused...)
}

// mostRefused objects are reported at once, because a file may have any number of them.
const mostRefused = 20

// admitOther checks an object without a schema here. Of another provider's kinds nothing is known, and another version Decode
// refuses, if the object is needed.
func admitOther(object Object) error {
	var err error
	switch object.Version.WithKind(object.Kind) {
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		var secret *corev1.Secret
		if secret, err = Decode[corev1.Secret](object); err == nil {
			err = checkType(object, secret)
		}
	case corev1.SchemeGroupVersion.WithKind("ConfigMap"):
		_, err = Decode[corev1.ConfigMap](object)
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

func checkType(object Object, secret *corev1.Secret) error {
	var missing []error
	for _, key := range typedKeys[secret.Type] {
		_, dataFound := secret.Data[key]
		_, stringDataFound := secret.StringData[key]
		if !dataFound && !stringDataFound {
			missing = append(missing, fmt.Errorf("%s: data[%s]: is missing, and a Secret of the type %s must have it; add it, or leave "+
				"type out", object, key, secret.Type))
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
func (k *kindRules) admit(object Object) (Object, error) {
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object.Data, &content); err != nil {
		return object, explain(object, err)
	}
	if k.foreign {
		// An API server takes no status from a user, that of a newer Cluster API has more fields, and nothing here needs it.
		delete(content, "status")
	}
	if wrong := k.unknown(object, content); wrong != nil {
		return object, wrong
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(content, k.structural)
	defaulting.Default(content, k.structural)
	filled, unread := fill(object, content)
	if unread == nil {
		content = filled
	}
	refused := slices.Concat(validation.ValidateCustomResource(nil, content, k.limits), checkScale(object, content),
		listtype.ValidateListSetsAndMaps(nil, k.structural, content))
	if unread != nil { // then the defaults are not set either, and a field with a default is not missing
		refused = slices.DeleteFunc(refused, func(refusal *field.Error) bool { return refusal.Type == field.ErrorTypeRequired })
	}
	if limits := slices.DeleteFunc(slices.Clone(refused), saysFormat); len(limits) > 0 {
		refused = limits
	}
	if len(refused) == 0 {
		// As in the API server, rules run only on an object within the limits.
		refused, _ = k.rules.Validate(context.Background(), nil, k.structural, content, nil, allRulesCost)
	}
	if len(refused) == 0 && unread != nil {
		return object, explainUnreadable(object, unread)
	}
	if len(refused) == 0 && !k.foreign {
		if err := checkSizes(object, content); err != nil {
			return object, err
		}
	}
	if len(refused) == 0 {
		return k.ask(object, content)
	}
	slices.SortStableFunc(refused, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	lines := sentences{object: object}
	for _, refusal := range refused {
		lines.add(refusal.Field, func() string { return k.words(refusal, content) })
	}
	return object, lines.err(content)
}

// saysFormat is about a number that does not fit into 32 bits. Most such fields have a limit, with a better sentence.
func saysFormat(refusal *field.Error) bool {
	return strings.HasPrefix(refusal.Detail, "Checked value must be of type")
}

// fill has the mutating webhook set its defaults. What it cannot read is mostly refused by the schema, in better words.
func fill(object Object, content map[string]any) (map[string]any, error) {
	hooks := webhooksOf(object)
	if hooks == nil {
		return content, nil
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return hooks.fill(object.Version.Version, data)
}

// ask has the validating webhook look at an object that the API server would send to it.
func (k *kindRules) ask(object Object, content map[string]any) (Object, error) {
	data, err := json.Marshal(content)
	hooks := webhooksOf(object)
	if err != nil || hooks == nil {
		object.Data = data
		return object, err
	}
	data, refused, err := hooks.admit(object.Version.Version, data)
	switch {
	case err != nil:
		return object, explainUnreadable(object, err)
	case len(refused) > 0:
		return object, k.explainRefusal(object, content, refused)
	}
	object.Version, object.Data = clusterv1.GroupVersion, data
	return object, nil
}

// unknown refuses fields that the schema does not know or whose values have another type, and checks the metadata.
func (k *kindRules) unknown(object Object, content map[string]any) error {
	written := runtime.DeepCopyJSON(content) // what is unknown goes from the content
	wrong := mismatches(written, k.structural, "")
	fields := pruning.PruneWithOptions(content, k.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	meta, found, metaFields, err := objectmeta.GetObjectMetaWithOptions(content,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return explainAt(object, "metadata", err)
	}
	if !found {
		meta = &metav1.ObjectMeta{}
	}
	fields = append(fields, metaFields...)
	lines := sentences{object: object}
	for _, path := range fields {
		if !covered(path, wrong) {
			lines.add(path, func() string { return k.unknownField(object, written, path) })
		}
	}
	for _, found := range wrong {
		lines.add(found.path, found.words)
	}
	meta.Namespace = object.Key.Namespace
	path := field.NewPath("metadata")
	for _, refusal := range apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, path) {
		lines.add(refusal.Field, func() string { return k.words(refusal, written) })
	}
	return lines.err(written)
}
