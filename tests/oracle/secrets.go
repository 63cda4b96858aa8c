package main

import (
	"context"
	"fmt"
	"time"

	"github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"go.yaml.in/yaml/v4"
)

const defaultContract = "v1.13"

func genSecrets(_ context.Context, args []string) (any, error) {
	set := newFlags("gen-secrets")
	contract := set.String("contract", defaultContract, "version contract: the Talos release the bundle is for")
	algorithm := set.String("os-ca", "ed25519", "key of the Talos API CA: ed25519 (what Talos makes), ecdsa or rsa (what people bring)")
	at := set.String("at", "", "make it as if it were this time (RFC 3339), for CAs that expired or have not begun")
	out := set.String("out", "", "write the bundle to this file instead")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	version, err := config.ParseContractFromVersion(*contract)
	if err != nil {
		return nil, usageError{err}
	}

	clock := secrets.NewClock()

	if *at != "" {
		fixed, err := time.Parse(time.RFC3339, *at)
		if err != nil {
			return nil, usageError{err}
		}

		clock = secrets.NewFixedClock(fixed)
	}

	bundle, err := secrets.NewBundle(clock, version)
	if err != nil {
		return nil, err
	}

	if err := replaceOSCA(bundle, *algorithm); err != nil {
		return nil, err
	}

	text, err := yaml.Marshal(bundle)
	if err != nil {
		return nil, err
	}

	return emit(text, *out)
}

// replaceOSCA gives the bundle a Talos API CA of another algorithm, otherwise as Talos makes its own.
func replaceOSCA(bundle *secrets.Bundle, algorithm string) error {
	var kind x509.Option

	switch algorithm {
	case "ed25519":
		return nil
	case "ecdsa":
		kind = x509.ECDSA(true)
	case "rsa":
		kind = x509.RSA(true)
	default:
		return usagef("--os-ca is ed25519, ecdsa or rsa, not %q", algorithm)
	}

	now := bundle.Clock.Now()

	ca, err := x509.NewSelfSignedCertificateAuthority(kind,
		x509.Organization("talos"),
		x509.NotBefore(now),
		x509.NotAfter(now.Add(secrets.CAValidityTime)),
	)
	if err != nil {
		return err
	}

	bundle.Certs.OS = x509.NewCertificateAndKeyFromCertificateAuthority(ca)

	return nil
}

func genTalosconfig(_ context.Context, args []string) (any, error) {
	set := newFlags("gen-talosconfig")
	file := set.require("secrets", "secrets bundle")
	cluster := set.require("cluster", "cluster name, which becomes the context's name")
	endpoints := set.String("endpoints", "", "addresses of control planes, separated by commas")
	roles := set.String("roles", string(role.Admin), "roles, separated by commas")
	ttl := set.Duration("ttl", 24*time.Hour, "life of the client certificate")
	out := set.String("out", "", "write the talosconfig to this file instead")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	bundle, err := loadBundle(*file)
	if err != nil {
		return nil, err
	}

	// Unknown roles are let through on purpose: tests need certificates that a node must refuse.
	granted, _ := role.Parse(splitWords(*roles))

	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(granted, *ttl)
	if err != nil {
		return nil, err
	}

	text, err := clientconfig.NewConfig(*cluster, splitWords(*endpoints), bundle.Certs.OS.Crt, certificate).Bytes()
	if err != nil {
		return nil, err
	}

	return emit(text, *out)
}

// loadBundle reads a bundle and has Talos's own code check it, which its loader alone does not do.
func loadBundle(file string) (*secrets.Bundle, error) {
	bundle, err := secrets.LoadBundle(file)
	if err != nil {
		return nil, fmt.Errorf("secrets bundle %s: %w", file, err)
	}

	if err := bundle.Validate(); err != nil {
		return nil, fmt.Errorf("secrets bundle %s: %w", file, err)
	}

	return bundle, nil
}
