package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"
)

// signer is a CA or a leaf with its key.
type signer struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (s signer) certPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw})
}

// keyPEM uses Talos's own label for Ed25519 keys (talos-api.md section 1).
func (s signer) keyPEM(t *testing.T) []byte {
	t.Helper()

	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}

	label := "PRIVATE KEY"
	if _, ok := s.key.(ed25519.PrivateKey); ok {
		label = "ED25519 PRIVATE KEY"
	}

	return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
}

func newKey(t *testing.T, algorithm x509.PublicKeyAlgorithm) crypto.Signer {
	t.Helper()

	var (
		key crypto.Signer
		err error
	)

	switch algorithm {
	case x509.ECDSA:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case x509.RSA:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}

	if err != nil {
		t.Fatal(err)
	}

	return key
}

// sign makes a certificate; without an issuer it signs itself.
func sign(t *testing.T, template *x509.Certificate, algorithm x509.PublicKeyAlgorithm, issuer *signer) signer {
	t.Helper()

	made := signer{key: newKey(t, algorithm)}
	if issuer == nil {
		issuer = &signer{cert: template, key: made.key}
	}

	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, made.key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}

	if made.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}

	return made
}

func newCA(t *testing.T, algorithm x509.PublicKeyAlgorithm, notBefore time.Time) *signer {
	t.Helper()

	made := sign(t, &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{Organization: []string{"talos"}},
		NotBefore:             notBefore,
		NotAfter:              notBefore.AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, algorithm, nil)

	return &made
}

// adminTemplate is a certificate as Ichor mints it: one hour, backdated by ten minutes.
func adminTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{Organization: []string{"os:admin"}},
		NotBefore:    now.Add(-10 * time.Minute),
		NotAfter:     now.Add(50 * time.Minute),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func failedChecks(report certificateReport) []string {
	var names []string

	for _, entry := range report.Checks {
		if !entry.OK {
			names = append(names, entry.Name)
		}
	}

	return names
}

func TestClientCertOfEveryKindOfCAIsAccepted(t *testing.T) {
	now := time.Now()

	for _, algorithm := range []x509.PublicKeyAlgorithm{x509.Ed25519, x509.ECDSA, x509.RSA} {
		ca := newCA(t, algorithm, now.AddDate(-1, 0, 0))
		leaf := sign(t, adminTemplate(now), x509.Ed25519, ca)

		report, err := judge(candidate{caPEM: ca.certPEM(), certPEM: leaf.certPEM(), keyPEM: leaf.keyPEM(t), role: "os:admin", now: now})
		if err != nil || !report.OK || len(report.Checks) != len(clientCertChecks) {
			t.Errorf("%s CA: %v %+v", algorithm, err, report)
		}
	}
}

// Each change of a good certificate is refused, by the checks that are meant for it and by no other.
func TestClientCertIsRefused(t *testing.T) {
	now := time.Now()
	ca := newCA(t, x509.Ed25519, now.Add(-time.Hour))

	for name, test := range map[string]struct {
		change func(*x509.Certificate)
		want   []string
	}{
		"two usages": {
			func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) },
			[]string{"extended-key-usage", "handshake"},
		},
		"server usage only": {
			func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} },
			[]string{"extended-key-usage", "handshake"},
		},
		"no usage": {
			func(c *x509.Certificate) { c.ExtKeyUsage = nil },
			[]string{"extended-key-usage", "handshake"},
		},
		"an unknown usage beside the right one": {
			func(c *x509.Certificate) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}} },
			[]string{"extended-key-usage", "handshake"},
		},
		"another role": {
			func(c *x509.Certificate) { c.Subject.Organization = []string{"os:reader"} },
			[]string{"organisation"},
		},
		"a role Talos does not know": {
			func(c *x509.Certificate) { c.Subject.Organization = []string{"os:nonsense"} },
			[]string{"organisation"},
		},
		"a common name": {
			func(c *x509.Certificate) { c.Subject.CommonName = "ichor" },
			[]string{"organisation"},
		},
		"a key usage too many": {
			func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageKeyEncipherment },
			[]string{"key-usage"},
		},
		"expired": {
			func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) },
			[]string{"validity", "handshake"},
		},
		"not yet valid": {
			func(c *x509.Certificate) { c.NotBefore = now.Add(time.Minute) },
			[]string{"validity", "handshake"},
		},
		"older than its CA": {
			func(c *x509.Certificate) { c.NotBefore = now.Add(-2 * time.Hour) },
			[]string{"validity"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			template := adminTemplate(now)
			test.change(template)
			leaf := sign(t, template, x509.Ed25519, ca)

			report, err := judge(candidate{caPEM: ca.certPEM(), certPEM: leaf.certPEM(), keyPEM: leaf.keyPEM(t), role: "os:admin", now: now})
			if failed := failedChecks(report); err == nil || report.OK || !slices.Equal(failed, test.want) {
				t.Errorf("refused by %q, want %q (%v): %+v", failed, test.want, err, report)
			}
		})
	}
}

func TestClientCertOfAnotherCAOrWithAnotherKeyIsRefused(t *testing.T) {
	now := time.Now()
	ca, other := newCA(t, x509.Ed25519, now.Add(-time.Hour)), newCA(t, x509.Ed25519, now.Add(-time.Hour))
	leaf, stranger := sign(t, adminTemplate(now), x509.Ed25519, ca), sign(t, adminTemplate(now), x509.Ed25519, ca)

	for name, test := range map[string]struct {
		candidate
		want []string
	}{
		"another CA":              {candidate{caPEM: other.certPEM(), certPEM: leaf.certPEM(), keyPEM: leaf.keyPEM(t)}, []string{"handshake"}},
		"another key":             {candidate{caPEM: ca.certPEM(), certPEM: leaf.certPEM(), keyPEM: stranger.keyPEM(t)}, []string{"talosconfig", "handshake"}},
		"certificate for the key": {candidate{caPEM: ca.certPEM(), certPEM: leaf.certPEM(), keyPEM: leaf.certPEM()}, []string{"talosconfig", "handshake"}},
		"a chain":                 {candidate{caPEM: ca.certPEM(), certPEM: append(leaf.certPEM(), ca.certPEM()...), keyPEM: leaf.keyPEM(t)}, []string{"certificate"}},
		"no CA":                   {candidate{caPEM: leaf.keyPEM(t), certPEM: leaf.certPEM(), keyPEM: leaf.keyPEM(t)}, []string{"ca"}},
	} {
		test.role, test.now = "os:admin", now

		report, err := judge(test.candidate)
		if failed := failedChecks(report); err == nil || !slices.Equal(failed, test.want) {
			t.Errorf("%s: refused by %q, want %q", name, failed, test.want)
		}
	}
}

// The command line of the check, on certificates that Talos's own code makes.
func TestCheckClientCertOnATalosconfig(t *testing.T) {
	bundle := produce(t, "gen-secrets")

	for roles, want := range map[string]int{"os:admin": 0, "os:reader": 1} {
		config := readYAML(t, produce(t, "gen-talosconfig", "--secrets", bundle, "--cluster", "demo", "--roles", roles))
		context := at(config, "contexts", "demo")

		var report certificateReport

		code := oracle(t, &report, "check-client-cert",
			"--ca", write(t, "ca", decode(t, at(context, "ca"))),
			"--cert", write(t, "crt", decode(t, at(context, "crt"))),
			"--key", write(t, "key", decode(t, at(context, "key"))))
		if code != want || report.OK != (want == 0) {
			t.Errorf("%s: exit code %d, want %d: %+v", roles, code, want, report)
		}
	}
}

func decode(t *testing.T, value any) []byte {
	t.Helper()

	text, _ := value.(string)

	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(decoded) == 0 {
		t.Fatalf("no base64 text: %v %v", value, err)
	}

	return decoded
}
