package serve_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"wiretime/media/transport"
	"wiretime/serve"
)

// TestMedia: synthetic media and those of a folder are what is listed and served, over each
// transport of the machine.
func TestMedia(t *testing.T) {
	ca, err := serve.OpenAuthority("", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ca.Close()
	for name, dir := range map[string]string{"synthetic": "", "folder": makeFolder(t, map[string]string{"song": "la"})} {
		t.Run(name, func(t *testing.T) {
			media, err := serve.OpenMedia(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer media.Close()
			if media.Synthetic != (dir == "") || len(media.Items) == 0 {
				t.Fatalf("%d items, synthetic: %v", len(media.Items), media.Synthetic)
			}
			for _, id := range media.Items {
				piece, err := media.Open(id)
				if err != nil {
					t.Fatalf("%v is listed: %v", id, err)
				}
				_ = piece.Close()
			}
			servers, err := serve.StartMedia(t.Context(), transport.ServerConfig{Address: netip.MustParseAddrPort("127.0.0.1:0"), Storage: media, CA: ca.Authority})
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range transport.All() {
				s := servers[i]
				if s.Transport.Name != row.Name || (s.Server == nil) != (row.Available(nil) != nil) || s.Server == nil && s.Lacking == nil {
					t.Errorf("%s: %+v", row.Name, s)
				}
			}
			if err := servers.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := serve.OpenMedia(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a folder that does not exist is opened")
	}
}

// TestAuthority: one in a folder stays, a temporary one is removed.
func TestAuthority(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "ca")
	for _, dir := range []string{kept, ""} {
		a, err := serve.OpenAuthority(dir, []string{"localhost"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(a.Root); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(a.Root); (err == nil) != (dir == kept) {
			t.Errorf("after Close of an authority in %q its root is %v", dir, err)
		}
	}
	if _, err := serve.OpenAuthority(makeFolder(t, map[string]string{"song": "la"}), nil); err == nil {
		t.Error("a folder with other files is opened as a certificate authority")
	}
}
