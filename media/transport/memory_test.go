package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wiretime/media/storage"
	"wiretime/protocol"
)

// mostMemory is what both ends of a transmission may take together, in octets,
// however large the file is.
const (
	mostMemory = 64 << 20
	fileSize   = 96 << 20
)

// TestAFileTakesNoMemory sends a file that is larger than the memory limit of both ends,
// which run in a process of their own. It checks the process's peak memory, including its
// code.
func TestAFileTakesNoMemory(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		command := exec.CommandContext(t.Context(), "/proc/self/exe")
		command.Env = append(os.Environ(), transferMark+"="+row.Name)
		var said, complaints bytes.Buffer
		command.Stdout, command.Stderr = &said, &complaints
		if err := command.Run(); err != nil {
			t.Fatalf("%v: %s", err, complaints.String())
		}
		peak, err := strconv.Atoi(strings.TrimSpace(said.String()))
		must(t, err)
		t.Logf("%.1f MB", float64(peak)/1e6)
		if peak > mostMemory {
			t.Errorf("sending %d octets took %d octets of memory, want %d at most", fileSize, peak, mostMemory)
		}
	})
}

// transferAndTell sends a file, checks it, and prints the most memory that this
// process has taken, in octets.
func transferAndTell(name string) (err error) {
	row, err := Lookup(name)
	if err != nil {
		return err
	}
	content, err := storage.Make(1, storage.File("file", fileSize))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "transfer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ca, err := protocol.OpenAuthority(filepath.Join(dir, "ca"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	server, err := Serve(ctx, ServerConfig{Transport: row, Address: netip.MustParseAddrPort("127.0.0.1:0"), Storage: content, CA: ca})
	if err != nil {
		return err
	}
	b := bench{content, server, ClientConfig{Transport: row, Server: server.Address(), Name: serverName, Verify: ca.Verify}}
	client, err := NewClient(b.viewer)
	if err != nil {
		return err
	}
	session, err := client.Connect(ctx)
	if err != nil {
		return err
	}
	if _, err := b.fetch(ctx, session, wholeFile); err != nil {
		return err
	}
	if err := errors.Join(session.Close(), server.Close()); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes := 0
	if _, err := fmt.Sscan(peak, &kilobytes); err != nil {
		return err
	}
	fmt.Println(kilobytes << 10)
	return nil
}
