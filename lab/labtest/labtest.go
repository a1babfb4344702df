// Package labtest sets up labs for tests.
package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/network"
)

// Main runs a package's tests in namespaces where labs can be made, and exits. TestMain calls it.
func Main(m *testing.M) {
	lab.Helper()
	// A fuzzer's workers get files under the descriptors that Enter uses, and need no lab.
	if !slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.fuzz") }) {
		if _, err := lab.Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// Config returns the configuration of a lab with some access links, Linux's usual TCP buffers and a
// resolver that answers without crossing the path.
func Config(accessLinks int) lab.Config {
	return lab.Config{AccessLinks: accessLinks, InstantDNS: true, TCPRmem: network.TCPRmem(), TCPWmem: network.TCPWmem()}
}

// New makes a lab and closes it when the test ends.
func New(t testing.TB, c lab.Config) *lab.Lab {
	t.Helper()
	l, err := lab.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ReadCapture reads the capture that a load left in a folder.
func ReadCapture(t testing.TB, folder string) *capture.Packets {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, lab.CaptureFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packets, err := capture.ReadPcapng(file)
	if err != nil {
		t.Fatal(err)
	}
	return packets
}
