package supervisor

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listeningAddresses are the local addresses on which the processes listen for TCP.
func listeningAddresses(t *testing.T, processes map[int]string) []string {
	t.Helper()
	var inodes []string
	for pid := range processes {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if link, err := os.Readlink(fd); err == nil && strings.HasPrefix(link, "socket:[") {
				inodes = append(inodes, strings.Trim(link, "socket:[]"))
			}
		}
	}
	var addresses []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(content), "\n")[1:] {
			const listen = "0A"
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listen || !slices.Contains(inodes, fields[9]) {
				continue
			}
			raw, err := hex.DecodeString(strings.Split(fields[1], ":")[0])
			if err != nil {
				t.Fatal(err)
			}
			for word := 0; word < len(raw); word += 4 { // each 32-bit word is in the machine's byte order
				slices.Reverse(raw[word : word+4])
			}
			addresses = append(addresses, net.IP(raw).String())
		}
	}
	return addresses
}
