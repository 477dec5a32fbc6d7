package login

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// The keys of a Secret. Others are ignored.
const (
	keyTenant      = "tenantID"
	keyClient      = "clientID"
	keySecret      = "clientSecret"
	keyCertificate = "certificate"
	keyCloud       = "cloud"
	keyEndpoint    = "resourceManagerEndpoint"
	keyAuthority   = "authority"
	keyAudience    = "audience"
	keyCABundle    = "caBundle"
	keyVersion     = "computeAPIVersion"
)

var (
	keys = []string{
		keyTenant, keyClient, keySecret, keyCertificate, keyCloud, keyEndpoint, keyAuthority, keyAudience, keyCABundle,
		keyVersion,
	}
	// partsOfACloud need an endpoint beside them.
	partsOfACloud = []string{keyAuthority, keyAudience, keyCABundle, keyVersion}
)

// Bounds of values, and of names that are shown.
const (
	maxSecret = 4 << 10
	maxName   = 64
)

var (
	guid   = placement.GUID
	domain = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$`)
)

const ofSecret = "the Secret with the Azure credentials"

// secret has the values of a Secret. Line ends at the end of a value are taken for the work of an editor.
type secret map[string][]byte

func (s secret) value(key string) string  { return strings.TrimRight(string(s[key]), "\r\n") }
func (s secret) contains(key string) bool { return s.value(key) != "" }

func (r Request) fromSecret() (input, error) {
	s := secret(r.Secret)
	if err := s.spelling(); err != nil {
		return input{}, err
	}
	in := input{source: ofSecret}
	var err error
	if in.tenant, in.client, err = s.principal(r.Grant); err != nil {
		return input{}, err
	}
	if in.cloud, err = s.cloud(r.Cloud, r.Book); err != nil {
		return input{}, err
	}
	if !s.contains(keyCloud) && !s.contains(keyEndpoint) { // else the Secret itself names the cloud of its proof
		if err := r.Grant.In(in.cloud.Name); err != nil {
			return input{}, err
		}
	}
	return in, s.proof(&in, r.Grant)
}

// spelling refuses a key that differs from one of ours in its case alone, because ignoring it would mislead.
func (s secret) spelling() error {
	for _, key := range keys {
		for name := range s {
			if name != key && strings.EqualFold(name, key) {
				return missing("%s has the key %s: rename it to %s", ofSecret, cloud.Clean(name, maxName), key)
			}
		}
	}
	return nil
}

// IsID reports whether a tenant is named by its ID, and not by a domain.
func IsID(tenant string) bool { return guid.MatchString(tenant) }

// principal is who the Secret is about. If an identity names it, the Secret may repeat that, and nothing else.
func (s secret) principal(grant placement.Grant) (tenant, client string, err error) {
	tenant, client = grant.TenantID, grant.ClientID
	for _, field := range []struct {
		key   string
		value *string
	}{{keyTenant, &tenant}, {keyClient, &client}} {
		written := s.value(field.key)
		switch {
		case *field.value == "" && written == "":
			return "", "", missing("%s has no key %s: add it", ofSecret, field.key)
		case *field.value != "" && written != "" && !strings.EqualFold(*field.value, written):
			return "", "", rejected("%s has another %s than the AzureClusterIdentity that names it: remove the key", ofSecret, field.key)
		case *field.value == "":
			*field.value = written
		}
	}
	switch {
	case !guid.MatchString(tenant) && !domain.MatchString(tenant) || len(tenant) > 253:
		return "", "", rejected("the tenant in %s must be an id such as 00000000-0000-0000-0000-000000000000, or a domain: correct %s",
			ofSecret, keyTenant)
	case !guid.MatchString(client):
		return "", "", rejected("the client in %s must be an id such as 00000000-0000-0000-0000-000000000000: correct %s", ofSecret,
			keyClient)
	}
	return tenant, client, nil
}

// cloud is where the principal is: a cloud by name, or one that the Secret describes.
func (s secret) cloud(name string, book clouds.Book) (clouds.Cloud, error) {
	if !s.contains(keyEndpoint) {
		if index := slices.IndexFunc(partsOfACloud, s.contains); index >= 0 {
			return clouds.Cloud{}, rejected("%s has the key %s, which describes a cloud of its own, but no %s: add that key, or remove %s",
				ofSecret, partsOfACloud[index], keyEndpoint, partsOfACloud[index])
		}
		if s.contains(keyCloud) {
			name = s.value(keyCloud)
		}
		found, ok := book.Named(name)
		if !ok {
			return clouds.Cloud{}, unknownCloud(name, book)
		}
		return found, nil
	}
	if s.contains(keyCloud) {
		return clouds.Cloud{}, rejected("%s has both %s and %s: a cloud of the address book keeps its addresses, so remove one of "+
			"the keys",
			ofSecret, keyCloud, keyEndpoint)
	}
	chosen, err := clouds.Choose(clouds.Cloud{
		ResourceManager: s.value(keyEndpoint), Authority: s.value(keyAuthority), Audience: s.value(keyAudience),
		CABundle: s.value(keyCABundle), ComputeAPIVersion: s.value(keyVersion),
	})
	if err != nil {
		return clouds.Cloud{}, rejected("%s describes a cloud that cannot be used: %s", ofSecret, err)
	}
	return chosen, nil
}

// proof takes the secret or the certificate. For an identity with a certificate, Cluster API Provider Azure reads clientSecret.
func (s secret) proof(in *input, grant placement.Grant) error {
	content := s.value(keyCertificate)
	asCAPZ := grant.ClientID != "" && grant.Proof == placement.Certificate && content == ""
	switch {
	case asCAPZ:
		content = s.value(keySecret)
	case content != "" && s.contains(keySecret):
		return rejected("%s has both %s and %s: remove the one that is not in use", ofSecret, keySecret, keyCertificate)
	case content != "" && grant.ClientID != "" && grant.Proof == placement.ClientSecret:
		return rejected("%s has a %s, but its AzureClusterIdentity is of a type with a secret: use the type "+
			"ServicePrincipalCertificate, or the key %s", ofSecret, keyCertificate, keySecret)
	}
	switch {
	case content != "":
		return in.take([]byte(content), nil)
	case asCAPZ:
		return missing("%s has no key %s: add it", ofSecret, keyCertificate)
	case !s.contains(keySecret):
		return missing("%s has neither %s nor %s: add one of them", ofSecret, keySecret, keyCertificate)
	case len(s[keySecret]) > maxSecret:
		return rejected("the key %s of %s is longer than any client secret: correct it", keySecret, ofSecret)
	}
	text := s.value(keySecret)
	in.proof, in.secret = placement.ClientSecret, func() string { return text }
	return nil
}
