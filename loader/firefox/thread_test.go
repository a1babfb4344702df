package firefox

import (
	"net"
	"os/exec"
	"testing"

	"wiretime/needtest"
	"wiretime/process/processtest"
	"wiretime/protocol"
)

// TestBrowserOutlivesThread starts a browser from a thread that ends while the browser is needed,
// as a lab's threads do when the lab is closed.
func TestBrowserOutlivesThread(t *testing.T) {
	needtest.Long(t)
	binary := needFirefox(t)
	authority, err := protocol.OpenAuthority(t.TempDir())
	must(t, err)
	o := Options{Binary: binary, Folder: t.TempDir(), Enter: func(*exec.Cmd) {}, Dial: new(net.Dialer).DialContext, Issuer: authority.Issuer()}
	var b *Browser
	processtest.OnEndingThread(func() { b, err = Launch(t.Context(), o) })
	must(t, err)
	defer func() { must(t, b.Close()) }()
	visit, err := b.Open(t.Context(), nil)
	must(t, err)
	must(t, visit.Close())
}
