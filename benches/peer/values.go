package main

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
)

var (
	errNotAddress    = errors.New("not an IP address: give the IPv4 or IPv6 address of the node, such as 10.5.0.7")
	errNotOneMachine = errors.New("not the address of one machine (unspecified, multicast or broadcast)")
)

// parseAddress reads the address of one machine; its String is the canonical form.
func parseAddress(text string) (netip.Addr, error) {
	bare := strings.TrimSpace(text)
	if inner, found := strings.CutPrefix(bare, "["); found {
		bare = strings.TrimSuffix(inner, "]")
	}

	address, err := netip.ParseAddr(bare)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, errNotAddress
	}

	// An IPv4 address written as IPv6 is the same machine.
	address = address.Unmap()
	if address.IsUnspecified() || address.IsMulticast() || address == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return netip.Addr{}, errNotOneMachine
	}

	return address, nil
}

// isLocal reports an address that only this host or this link can reach.
func isLocal(address netip.Addr) bool {
	return address.IsLoopback() || address.IsLinkLocalUnicast()
}

// systemUUID is an SMBIOS system UUID.
type systemUUID [16]byte

func parseUUID(text string) (systemUUID, bool) {
	var uuid systemUUID

	text = strings.TrimSpace(text)
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return uuid, false
	}

	digits := make([]byte, 0, 32)
	for _, part := range [...]string{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		digits = append(digits, part...)
	}

	_, err := hex.Decode(uuid[:], digits)

	return uuid, err == nil
}

func (u systemUUID) String() string {
	digits := hex.EncodeToString(u[:])

	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}

// sameBoard also holds for the other byte order of the first three fields: one board may print both.
func (u systemUUID) sameBoard(other systemUUID) bool {
	swapped := u
	swapped[0], swapped[1], swapped[2], swapped[3] = u[3], u[2], u[1], u[0]
	swapped[4], swapped[5], swapped[6], swapped[7] = u[5], u[4], u[7], u[6]

	return u == other || swapped == other
}
