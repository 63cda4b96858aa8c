package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	siderox509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

// certificateReport is the answer of check-client-cert: each check by name, and the facts a test may want to
// hold against its own rules (the life of the certificate is Ichor's choice, not Talos's).
type certificateReport struct {
	OK        bool         `json:"ok"`
	Checks    []checkEntry `json:"checks"`
	Subject   string       `json:"subject,omitempty"`
	Serial    string       `json:"serial,omitempty"`
	Key       string       `json:"key,omitempty"`
	NotBefore *time.Time   `json:"notBefore,omitempty"`
	NotAfter  *time.Time   `json:"notAfter,omitempty"`
}

type checkEntry struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// candidate is what the checks look at.
type candidate struct {
	caPEM, certPEM, keyPEM []byte
	ca, cert               *x509.Certificate
	role                   string
	now                    time.Time
}

// clientCertChecks is the whole of what makes a client certificate good. The handshake is the verdict of a node; the
// others say which property was wrong, and hold the certificate to the shape Talos itself gives to its own.
var clientCertChecks = []struct {
	name  string
	check func(candidate) error
}{
	{"talosconfig", checkTalosconfig},
	{"organisation", checkOrganisation},
	{"key-usage", checkKeyUsage},
	{"extended-key-usage", checkExtKeyUsage},
	{"validity", checkValidity},
	{"handshake", checkHandshake},
}

func checkClientCert(_ context.Context, args []string) (any, error) {
	set := newFlags("check-client-cert")
	caFile := set.require("ca", "PEM file with the Talos API CA's certificate")
	certFile := set.require("cert", "PEM file with the client certificate")
	keyFile := set.require("key", "PEM file with its private key")
	wanted := set.String("role", string(role.Admin), "the one role the certificate must carry")
	at := set.String("now", "", "the node's clock (RFC 3339) instead of this machine's")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	c := candidate{role: *wanted, now: time.Now()}

	if *at != "" {
		now, err := time.Parse(time.RFC3339, *at)
		if err != nil {
			return nil, usageError{err}
		}

		c.now = now
	}

	for file, into := range map[*string]*[]byte{caFile: &c.caPEM, certFile: &c.certPEM, keyFile: &c.keyPEM} {
		text, err := readInput(*file)
		if err != nil {
			return nil, err
		}

		*into = text
	}

	return judge(c)
}

func judge(c candidate) (certificateReport, error) {
	var err error

	if c.ca, err = parseCertificate(c.caPEM); err != nil {
		return certificateReport{Checks: []checkEntry{{Name: "ca", Error: err.Error()}}}, errRejected
	}

	if c.cert, err = parseCertificate(c.certPEM); err != nil {
		return certificateReport{Checks: []checkEntry{{Name: "certificate", Error: err.Error()}}}, errRejected
	}

	report := certificateReport{
		OK:        true,
		Subject:   c.cert.Subject.String(),
		Serial:    c.cert.SerialNumber.Text(16),
		Key:       c.cert.PublicKeyAlgorithm.String(),
		NotBefore: &c.cert.NotBefore,
		NotAfter:  &c.cert.NotAfter,
	}

	for _, rule := range clientCertChecks {
		entry := checkEntry{Name: rule.name, OK: true}

		if err := rule.check(c); err != nil {
			entry.OK, entry.Error, report.OK = false, err.Error(), false
		}

		report.Checks = append(report.Checks, entry)
	}

	if !report.OK {
		return report, errRejected
	}

	return report, nil
}

// parseCertificate wants exactly one certificate: a node sends and expects no chain.
func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("no PEM block labelled CERTIFICATE")
	}

	if more, _ := pem.Decode(rest); more != nil {
		return nil, fmt.Errorf("more than one PEM block")
	}

	return x509.ParseCertificate(block.Bytes)
}

// checkTalosconfig takes certificate and key through a talosconfig, the way every Talos tool would read them.
func checkTalosconfig(c candidate) error {
	pair := &siderox509.PEMEncodedCertificateAndKey{Crt: c.certPEM, Key: c.keyPEM}

	if _, err := pair.GetCert(); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}

	if _, err := pair.GetKey(); err != nil {
		return fmt.Errorf("key: %w", err)
	}

	text, err := clientconfig.NewConfig("check", nil, c.caPEM, pair).Bytes()
	if err != nil {
		return err
	}

	parsed, err := clientconfig.FromBytes(text)
	if err != nil {
		return err
	}

	read := parsed.Contexts["check"]

	if ca, err := base64.StdEncoding.DecodeString(read.CA); err != nil || !slices.Equal(ca, c.caPEM) {
		return fmt.Errorf("the CA does not survive a talosconfig")
	}

	_, err = client.CertificateFromConfigContext(read)

	return err
}

// checkOrganisation: roles are the organisations of the subject. Talos's own certificates have nothing else there.
func checkOrganisation(c candidate) error {
	if _, unknown := role.Parse(c.cert.Subject.Organization); len(unknown) > 0 {
		return fmt.Errorf("roles unknown to Talos: %q", unknown)
	}

	if want := "O=" + c.role; c.cert.Subject.String() != want {
		return fmt.Errorf("subject is %q, want %q", c.cert.Subject.String(), want)
	}

	return nil
}

func checkKeyUsage(c candidate) error {
	if c.cert.KeyUsage != x509.KeyUsageDigitalSignature {
		return fmt.Errorf("key usage bits are %#x, want digitalSignature only (%#x)", int(c.cert.KeyUsage), int(x509.KeyUsageDigitalSignature))
	}

	return nil
}

func checkValidity(c candidate) error {
	switch {
	case c.now.Before(c.cert.NotBefore):
		return fmt.Errorf("not valid before %s", c.cert.NotBefore.Format(time.RFC3339))
	case c.now.After(c.cert.NotAfter):
		return fmt.Errorf("expired at %s", c.cert.NotAfter.Format(time.RFC3339))
	case c.cert.NotBefore.Before(c.ca.NotBefore):
		return fmt.Errorf("starts at %s, before its CA (%s)", c.cert.NotBefore.Format(time.RFC3339), c.ca.NotBefore.Format(time.RFC3339))
	}

	return nil
}
