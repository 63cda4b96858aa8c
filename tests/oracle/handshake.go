package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"time"
)

// checkExtKeyUsage is a rule Talos adds to Go's: the list must equal [clientAuth]; a certificate that may also
// serve is refused with the alert "bad certificate" (talos-api.md section 1).
func checkExtKeyUsage(c candidate) error {
	return onlyClientAuth(c.cert)
}

func onlyClientAuth(cert *x509.Certificate) error {
	if !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) || len(cert.UnknownExtKeyUsage) > 0 {
		return fmt.Errorf("extended key usages are %v, want exactly [clientAuth]", cert.ExtKeyUsage)
	}

	return nil
}

// checkHandshake makes a TLS 1.3 connection between a client with the certificate and a server that demands one as a
// node's API does. It finds what reading fields cannot: a key that does not match, a signature algorithm TLS refuses.
func checkHandshake(c candidate) error {
	pair, err := tls.X509KeyPair(c.certPEM, c.keyPEM)
	if err != nil {
		return err
	}

	serving, err := throwawayServing(c.now)
	if err != nil {
		return err
	}

	accepted := x509.NewCertPool()
	accepted.AddCert(c.ca)

	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()

	server := tls.Server(far, &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{serving},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              accepted,
		SessionTicketsDisabled: true,
		Time:                   func() time.Time { return c.now },
		VerifyConnection: func(state tls.ConnectionState) error {
			return onlyClientAuth(state.PeerCertificates[0])
		},
	})

	// The server's certificate is not what is judged here, so the client takes any.
	dialler := tls.Client(near, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // see above
		Certificates:       []tls.Certificate{pair},
	})

	dialled := make(chan error, 1)

	go func() {
		dialled <- dialler.Handshake()
		// In TLS 1.3 a client is done before the server judged its certificate. The pipe has no buffer, so
		// somebody must read the alert, or the server would wait for ever to send it.
		_, _ = io.Copy(io.Discard, near)
	}()

	verdict := server.Handshake()

	// Ends the client, whatever it still waits for.
	far.Close()

	return errors.Join(verdict, <-dialled)
}

// throwawayServing makes a self-signed certificate for the server's side.
func throwawayServing(now time.Time) (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}

	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return tls.Certificate{}, err
	}

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}
