package serve

import (
	"errors"
	"fmt"
	"path/filepath"

	"wiretime/protocol"
	"wiretime/scratch"
)

// Authority is a certificate authority in a folder.
type Authority struct {
	*protocol.Authority
	// Root is the PEM file of the authority's own certificate.
	Root string

	temporary *scratch.Folder // Close removes it; nil for none
}

// OpenAuthority opens the certificate authority in a folder, or makes one if the folder is
// missing or empty. If dir is empty, it makes one that Close removes.
func OpenAuthority(dir string) (*Authority, error) {
	a := &Authority{}
	if dir == "" {
		var err error
		if a.temporary, err = scratch.Make("", "wiretime-serve-"); err != nil {
			return nil, fmt.Errorf("make a certificate authority: %w", err)
		}
		dir = filepath.Join(a.temporary.Path, "ca")
	}
	var err error
	if a.Authority, err = protocol.OpenAuthority(dir); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.Root = filepath.Join(dir, "root.pem")
	return a, nil
}

// Close removes the authority if it is temporary.
func (a *Authority) Close() error {
	if a.temporary == nil {
		return nil
	}
	return a.temporary.Remove()
}
