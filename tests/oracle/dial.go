package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"os"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// answer is what a call to a node printed: its result and who answered.
type answer struct {
	Action string    `json:"action"`
	Result any       `json:"result"`
	Peer   *peerInfo `json:"peer,omitempty"`
}

// peerInfo is the certificate the node served.
type peerInfo struct {
	Address     string    `json:"address"`
	Subject     string    `json:"subject"`
	Issuer      string    `json:"issuer"`
	Fingerprint string    `json:"fingerprint"`
	NotAfter    time.Time `json:"notAfter"`
	IPs         []string  `json:"ips,omitempty"`
	DNSNames    []string  `json:"dnsNames,omitempty"`
	TLS         string    `json:"tls"`
	ALPN        string    `json:"alpn"`
}

func dial(ctx context.Context, args []string) (any, error) {
	set := newFlags("dial")
	node := set.require("node", "address of the node, port 50000 unless it names one")
	config := set.String("talosconfig", "", "talosconfig with the credentials")
	contextName := set.String("context", "", "context of the talosconfig instead of its current one")
	insecure := set.Bool("insecure", false, "maintenance mode: no credentials, any certificate of the node")
	fingerprint := set.String("fingerprint", "", "with --insecure, take only this certificate (as the console shows it)")
	timeout := set.Duration("timeout", 10*time.Second, "deadline of the whole action")

	words, err := set.parseLeading(args)
	if err != nil {
		return nil, err
	}

	if len(words) == 0 || actions[words[0]] == nil {
		return nil, usagef("after the flags comes one action of: %s", actionNames())
	}

	// The action's own flags are read before anything is dialled: a typo must not reach a node half done.
	act, err := actions[words[0]](words[1:])
	if err != nil {
		return nil, err
	}

	var seen peer.Peer

	options := []client.OptionFunc{
		client.WithEndpoints(*node),
		client.WithDefaultGRPCDialOptions(),
		client.WithGRPCDialOptions(grpc.WithDefaultCallOptions(grpc.Peer(&seen))),
	}

	credential, err := credentialOption(*insecure, *fingerprint, *config, *contextName)
	if err != nil {
		return nil, err
	}

	connection, err := client.New(ctx, append(options, credential...)...)
	if err != nil {
		return nil, err
	}

	defer connection.Close()

	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()

	result, err := act(ctx, connection)
	if err != nil {
		return nil, err
	}

	return answer{Action: words[0], Result: result, Peer: servedBy(seen)}, nil
}

// credentialOption gives the client what talosctl would give it, with and without its --insecure.
func credentialOption(insecure bool, fingerprint, config, contextName string) ([]client.OptionFunc, error) {
	switch {
	case insecure && config != "":
		return nil, usagef("--insecure sends no credentials: leave --talosconfig out")
	case !insecure && fingerprint != "":
		return nil, usagef("--fingerprint goes with --insecure")
	case !insecure && config == "":
		return nil, usagef("either --talosconfig or --insecure is needed")
	case insecure:
		tlsConfig := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // maintenance mode has nothing to verify against

		if fingerprint != "" {
			pin, err := x509.ParseFingerprint(fingerprint)
			if err != nil || len(pin) != sha256.Size {
				return nil, usagef("--fingerprint is not the base64 form of a SHA-256 sum")
			}

			tlsConfig.VerifyConnection = x509.MatchSPKIFingerprints(pin)
		}

		return []client.OptionFunc{client.WithTLSConfig(tlsConfig)}, nil
	}

	// Not client.WithConfigFromFile: it creates the file when it is missing.
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}

	parsed, err := clientconfig.FromBytes(text)
	if err != nil {
		return nil, err
	}

	options := []client.OptionFunc{client.WithConfig(parsed)}

	if contextName != "" {
		options = append(options, client.WithContextName(contextName))
	}

	return options, nil
}

func servedBy(seen peer.Peer) *peerInfo {
	info, ok := seen.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil
	}

	leaf := info.State.PeerCertificates[0]
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)

	served := &peerInfo{
		Address:     seen.Addr.String(),
		Subject:     leaf.Subject.String(),
		Issuer:      leaf.Issuer.String(),
		Fingerprint: base64.StdEncoding.EncodeToString(sum[:]),
		NotAfter:    leaf.NotAfter,
		DNSNames:    leaf.DNSNames,
		TLS:         tls.VersionName(info.State.Version),
		ALPN:        info.State.NegotiatedProtocol,
	}

	for _, ip := range leaf.IPAddresses {
		served.IPs = append(served.IPs, ip.String())
	}

	return served
}
