package tokens

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
)

// assertion is a JWT that a caller shows.
type assertion struct {
	header struct {
		Algorithm string `json:"alg"`
		Key       string `json:"kid"`
		SHA1      string `json:"x5t"`
		SHA256    string `json:"x5t#S256"`
	}
	claims struct {
		Issuer   string   `json:"iss"`
		Subject  string   `json:"sub"`
		Audience audience `json:"aud"`
		Expires  float64  `json:"exp"`
		From     float64  `json:"nbf"`
	}
	signed    string
	signature []byte
}

// audience is a text or a list of texts.
type audience []string

// UnmarshalJSON reads both.
func (a *audience) UnmarshalJSON(content []byte) error {
	var one string
	if json.Unmarshal(content, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(content, (*[]string)(a))
}

func parse(token string) (*assertion, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("not three parts")
	}
	a := &assertion{signed: parts[0] + "." + parts[1]}
	for i, into := range []any{&a.header, &a.claims} {
		content, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(content, into); err != nil {
			return nil, err
		}
	}
	var err error
	a.signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	return a, err
}

// signedBy checks the signature. The algorithm must fit the key.
func (a *assertion) signedBy(key crypto.PublicKey) bool {
	sum := sha256.Sum256([]byte(a.signed))
	switch key := key.(type) {
	case *rsa.PublicKey:
		if a.header.Algorithm == "PS256" {
			return rsa.VerifyPSS(key, crypto.SHA256, sum[:], a.signature, nil) == nil
		}
		return a.header.Algorithm == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], a.signature) == nil
	case *ecdsa.PublicKey:
		if a.header.Algorithm != "ES256" || len(a.signature) != 64 {
			return false
		}
		return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(a.signature[:32]), new(big.Int).SetBytes(a.signature[32:]))
	}
	return false
}

// jwk is one of an issuer's keys.
type jwk struct {
	Kind string `json:"kty"`
	ID   string `json:"kid"`
	N    string `json:"n"`
	E    string `json:"e"`
	X    string `json:"x"`
	Y    string `json:"y"`
}

func (k jwk) key() crypto.PublicKey {
	number := func(s string) *big.Int {
		content, _ := base64.RawURLEncoding.DecodeString(s) // an unreadable number makes a key that has signed nothing
		return new(big.Int).SetBytes(content)
	}
	switch k.Kind {
	case "RSA":
		return &rsa.PublicKey{N: number(k.N), E: int(number(k.E).Int64())}
	case "EC":
		x, y := number(k.X), number(k.Y)
		if x.BitLen() > 256 || y.BitLen() > 256 {
			return nil
		}
		point := append([]byte{4}, x.FillBytes(make([]byte, 32))...)
		point = append(point, y.FillBytes(make([]byte, 32))...)
		if key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err == nil {
			return key
		}
	}
	return nil
}
