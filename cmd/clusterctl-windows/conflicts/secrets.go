package conflicts

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	clouds "github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	vcenters "github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// Login is what a Secret of the files has, as an API server would keep it, and whether they have it.
func Login(o *objects.Set, key types.NamespacedName) (data map[string][]byte, found bool, err error) {
	secret, err := objects.Load[corev1.Secret](o, "Secret", key)
	if _, missing := errors.AsType[*objects.MissingError](err); missing {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	data = map[string][]byte{}
	maps.Copy(data, secret.Data)
	for name, text := range secret.StringData {
		data[name] = []byte(text)
	}
	return data, true, nil
}

// secretKey is the Secret that the machine's identityRef names; empty if it names none.
func (s Subject) secretKey() (key types.NamespacedName) {
	if ref := s.Windows.Spec.IdentityRef; ref.Name != "" && ref.Kind == infrav1.IdentitySecret {
		key = types.NamespacedName{Namespace: s.Owner.Namespace, Name: ref.Name}
	}
	return key
}

// secret checks the login by the rules of the manager, which reports CredentialsMissing for a wrong one and waits for a better
// one.
func (s Subject) secret() []string {
	key := s.secretKey()
	if key.Name == "" {
		return nil
	}
	login, found, err := Login(s.Files, key)
	switch {
	case err != nil:
		return note("%v", err)
	case !found:
		return s.absent(key)
	}
	for _, name := range slices.Sorted(maps.Keys(login)) {
		if slices.Contains(keys[vSphere], name) && strings.Contains(string(login[name]), "${") {
			return note("Secret %s, which identityRef names: the key %s has a variable that is not filled in; fill it in with clusterctl "+
				"generate yaml, before the Secret is applied", key, name)
		}
	}
	if err := s.open(login); err != nil {
		return note("Secret %s, which identityRef names, is refused by the manager (no VM is made): %v%s", key, err, s.unread(login))
	}
	return s.doubts(key, login)
}

// open reads a login as the manager does, without a call.
func (s Subject) open(login map[string][]byte) error {
	if s.Windows.Spec.VSphere != nil {
		_, err := vcenters.Provider{}.Principal(login)
		return err
	}
	_, err := clouds.Provider{}.Principal(login)
	return err
}

// keys are those that are read of a Secret, by cloud.
var keys = map[string][]string{
	vSphere: {"server", "username", "password", "thumbprint", "ca.crt"},
	azure: {
		"tenantID", "clientID", "clientSecret", "certificate", "cloud", "resourceManagerEndpoint", "authority", "audience", "caBundle",
		"computeAPIVersion",
	},
}

// unread lists the keys that have no effect: one of them may be the missing key under another name.
func (s Subject) unread(login map[string][]byte) string {
	cloud, _ := s.cloud()
	var odd []string
	for _, name := range slices.Sorted(maps.Keys(login)) {
		if !slices.Contains(keys[cloud], name) && plainKey.MatchString(name) {
			odd = append(odd, name)
		}
	}
	if len(odd) == 0 {
		return ""
	}
	return "; it has " + strings.Join(odd, ", ") + ", which nothing reads: the keys are " + strings.Join(keys[cloud], ", ")
}

// plainKey is the name of a key, and no password in the place of one.
var plainKey = regexp.MustCompile(`^[A-Za-z]{1,24}([._-][A-Za-z]{1,12})?$`)

// absent has no note for a Secret that the files leave out, as most do, unless another one may be meant.
func (s Subject) absent(key types.NamespacedName) []string {
	if meant := s.Meant(key); meant != "" {
		return note("identityRef names Secret %s, which is not in %s%s", key, s.Files.Source, meant)
	}
	return nil
}

// Meant returns the Secret of the files that may be meant by one that they do not have; empty if none is similar.
func (s Subject) Meant(key types.NamespacedName) string {
	_, err := objects.Load[corev1.Secret](s.Files, "Secret", key)
	missing, _ := errors.AsType[*objects.MissingError](err)
	switch {
	case missing == nil:
		return ""
	case len(missing.Elsewhere) > 0:
		return "; one of this name is in the namespace " + strings.Join(missing.Elsewhere, ", ") + ", and identityRef names one " +
			"of the machine's own namespace: write metadata.namespace of both alike"
	case missing.Similar != "":
		return "; did you mean " + missing.Similar + ", which is there?"
	}
	for _, object := range s.Files.OfKind("ConfigMap") {
		if object.Key == key {
			return "; there is a ConfigMap of this name, which is not read as a login: write kind: Secret, and stringData for data"
		}
	}
	cloud, _ := s.cloud()
	for _, object := range s.Files.OfKind("Secret") {
		login, _, err := Login(s.Files, object.Key)
		if err == nil && object.Key.Namespace == key.Namespace && hasAll(login, keys[cloud][:3]) {
			return "; did you mean " + object.Key.Name + ", which has the keys of such a login?"
		}
	}
	return ""
}

func hasAll(login map[string][]byte, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return len(login[name]) == 0 })
}

// doubts are about a login that is taken, and fails at the vCenter.
func (s Subject) doubts(key types.NamespacedName, login map[string][]byte) (notes []string) {
	if s.Windows.Spec.VSphere == nil {
		return nil
	}
	username := strings.TrimSpace(string(login["username"]))
	for _, name := range []string{"server", "username"} {
		if twice(string(login[name])) {
			notes = append(notes, fmt.Sprintf("Secret %s: the key %s is base64 once more, after it was read; write plain text to "+
				"stringData, or base64 once to data, here and in the other keys", key, name))
		}
	}
	if len(notes) == 0 && !strings.ContainsAny(username, `@\`) {
		notes = append(notes, fmt.Sprintf("Secret %s: the key username has no domain, as in NAME@vsphere.local; a vCenter then "+
			"takes its default one, and refuses the login if the account is of another", key))
	}
	return notes
}

var base64Text = regexp.MustCompile(`^[A-Za-z0-9+/]{8,}={0,2}$`)

// twice reports whether a text is base64 of a host or a name with a domain. No host and no such name looks like that.
func twice(text string) bool {
	text = strings.TrimSpace(text)
	decoded, err := base64.StdEncoding.DecodeString(text)
	return err == nil && base64Text.MatchString(text) && decodedName.Match(decoded)
}

var decodedName = regexp.MustCompile(`^[A-Za-z0-9._-]+([.@\\][A-Za-z0-9._-]+)+\s*$`)
