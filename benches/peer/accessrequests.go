package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AccessRequestSpec asks for a certificate of the Talos API.
type AccessRequestSpec struct {
	plain

	ClusterRef LocalReference `json:"clusterRef"`
	Role       string         `json:"role"`
	Reason     string         `json:"reason"`
	Duration   string         `json:"duration"`
	CSR        string         `json:"csr"`
	Approval   string         `json:"approval,omitempty"`
}

func (s *AccessRequestSpec) fields(*asks) field.ErrorList {
	errs := validateName(&s.ClusterRef, "clusterRef")

	if strings.TrimSpace(s.Reason) == "" {
		errs = append(errs, field.Required(specPath.Child("reason"), "say why the access is needed, for whoever decides"))
	}

	if duration, err := time.ParseDuration(s.Duration); err != nil || duration < 10*time.Minute || duration > 168*time.Hour {
		errs = append(errs, field.Invalid(specPath.Child("duration"), s.Duration, "must be a duration from 10m to 168h, such as 8h"))
	}

	if err := validateCSR(s.CSR); err != nil {
		errs = append(errs, field.Forbidden(specPath.Child("csr"), err.Error()))
	}

	if s.Approval != "" && s.Approval != "Pending" {
		errs = append(errs, field.Forbidden(specPath.Child("approval"), "a request begins as Pending: another person decides"))
	}

	return errs
}

// validateCSR wants one request, signed with the key that it names, of a kind that Talos's authorities take.
func validateCSR(text string) error {
	if strings.Contains(text, "PRIVATE KEY") {
		return errors.New("holds a private key, which has to stay on your machine")
	}

	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE REQUEST" || strings.TrimSpace(string(rest)) != "" {
		return errors.New("has to be exactly one certificate signing request in PEM")
	}

	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return errors.New("is no certificate signing request that can be read")
	}

	switch key := request.PublicKey.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() {
			return errors.New("has a curve that is not signed: take P-256 or P-384")
		}
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 || bits > 8192 {
			return errors.New("has an RSA key that is not signed: take 2048 to 8192 bits")
		}
	default:
		return errors.New("has a key of a kind that is not signed")
	}

	if err := request.CheckSignature(); err != nil {
		return errors.New("is not signed with the key that it names")
	}

	return nil
}

func (s *AccessRequestSpec) lookUp(ctx context.Context, a *asks, _ string) (field.ErrorList, []string) {
	_, errs := a.clusterOf(ctx, s.ClusterRef)

	if s.Role == "os:admin" {
		return errs, []string{"os:admin can wipe nodes and read every Secret, and cannot be taken back for " + s.Duration}
	}

	return errs, nil
}

func (s *AccessRequestSpec) audit() map[string]string {
	return map[string]string{"cluster": s.ClusterRef.Name, "role": s.Role, "duration": s.Duration, "approval": s.Approval}
}
