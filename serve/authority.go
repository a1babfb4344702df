package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wiretime/protocol"
	"wiretime/scratch"
)

// Authority is a certificate authority with a file of its root.
type Authority struct {
	*protocol.Authority
	// Root is the PEM file of the authority's own certificate.
	Root string

	temporary *scratch.Folder // Close removes it; nil for none
}

// OpenAuthority opens the certificate authority in a folder, or makes one for the given
// names if the folder is missing or empty: see protocol.OpenLimitedAuthority. If dir is
// empty, it makes one for any name. Its key stays in memory, and Close removes its Root.
func OpenAuthority(dir string, names []string) (*Authority, error) {
	if dir == "" {
		return newAuthority()
	}
	a, err := protocol.OpenLimitedAuthority(dir, names)
	return &Authority{Authority: a, Root: filepath.Join(dir, "root.pem")}, err
}

func newAuthority() (*Authority, error) {
	made, err := protocol.NewAuthority()
	if err != nil {
		return nil, err
	}
	folder, err := scratch.Make("", "wiretime-serve-")
	if err != nil {
		return nil, fmt.Errorf("keep the root of the certificate authority: %w", err)
	}
	a := &Authority{Authority: made, Root: filepath.Join(folder.Path, "root.pem"), temporary: folder}
	if err := os.WriteFile(a.Root, made.Root(), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("keep the root of the certificate authority: %w", err), a.Close())
	}
	return a, nil
}

// Close removes the authority's file if it is temporary.
func (a *Authority) Close() error {
	if a.temporary == nil {
		return nil
	}
	return a.temporary.Remove()
}
