package supervisor

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// marshalKey encodes a key as the PEM label says.
func marshalKey(label string, key any) ([]byte, error) {
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if label == "EC PRIVATE KEY" {
			return x509.MarshalECPrivateKey(key)
		}
	case *rsa.PrivateKey:
		if label == "RSA PRIVATE KEY" {
			return x509.MarshalPKCS1PrivateKey(key), nil
		}
	}
	return x509.MarshalPKCS8PrivateKey(key)
}

func TestEveryKindOfCAKeyIssues(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		label string
		key   crypto.Signer
	}{
		{"EC PRIVATE KEY", ec},
		{"PRIVATE KEY", ec},
		{"RSA PRIVATE KEY", rsaKey},
		{"PRIVATE KEY", rsaKey},
		{"ED25519 PRIVATE KEY", ed},
		{"PRIVATE KEY", ed},
	} {
		t.Run(fmt.Sprintf("%T as %s", test.key, test.label), func(t *testing.T) {
			expires := time.Now().Add(time.Hour).Truncate(time.Second)
			template := &x509.Certificate{NotBefore: time.Now(), NotAfter: expires, IsCA: true, BasicConstraintsValid: true}
			certPEM, cert, err := sign(template, template, test.key.Public(), test.key)
			if err != nil {
				t.Fatal(err)
			}
			files := t.TempDir()
			certFile, keyFile := filepath.Join(files, "ca.crt"), filepath.Join(files, "ca.key")
			writeFile(t, certFile, certPEM)
			writeFile(t, keyFile, pemKey(t, test.label, test.key))

			ca, err := loadOrMakeCA(certFile, keyFile)
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := ca.issueServer("server", "127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			leaf.issuer = ca
			config, err := leaf.clientTLS()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(cert)
			if _, err := parsed.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"}); err != nil {
				t.Error(err)
			}
			if parsed.NotAfter.After(expires) {
				t.Errorf("the leaf outlives its CA: %s", parsed.NotAfter)
			}
		})
	}
}

func TestUnusableCA(t *testing.T) {
	ca, err := makeCA()
	if err != nil {
		t.Fatal(err)
	}
	other, err := makeCA()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.issueClient("leaf", "")
	if err != nil {
		t.Fatal(err)
	}
	key := pemKey(t, "EC PRIVATE KEY", ca.key)
	for _, test := range []struct {
		name      string
		cert, key []byte
		want      string
	}{
		{"another CA's key", ca.certPEM, pemKey(t, "EC PRIVATE KEY", other.key), "is not the key of"},
		{"a certificate for a key", ca.certPEM, ca.certPEM, `"CERTIFICATE" is no private key`},
		{"a key for a certificate", key, key, "holds no PEM block CERTIFICATE"},
		{"a leaf", leaf.certPEM, leaf.keyPEM, "is not the certificate of a CA"},
		{"no PEM", ca.certPEM, []byte("text"), "no PEM block"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := t.TempDir()
			certFile, keyFile := filepath.Join(files, "ca.crt"), filepath.Join(files, "ca.key")
			writeFile(t, certFile, test.cert)
			writeFile(t, keyFile, test.key)
			if _, err := loadOrMakeCA(certFile, keyFile); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error: %v", err)
			}
		})
	}
}
