package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wiretime/protocol"
)

// Authority is a certificate authority in a folder.
type Authority struct {
	*protocol.Authority
	// Root is the PEM file of the authority's own certificate.
	Root string

	temporary string // the folder that Close removes; empty for none
}

// OpenAuthority opens the certificate authority in a folder, or makes one if the folder is
// missing or empty. If dir is empty, it makes one that Close removes.
func OpenAuthority(dir string) (*Authority, error) {
	a := &Authority{}
	if dir == "" {
		var err error
		if a.temporary, err = os.MkdirTemp("", "wiretime-serve-"); err != nil {
			return nil, fmt.Errorf("make a certificate authority: %w", err)
		}
		dir = filepath.Join(a.temporary, "ca")
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
	if a.temporary == "" {
		return nil
	}
	return os.RemoveAll(a.temporary)
}
