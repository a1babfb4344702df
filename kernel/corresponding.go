package kernel

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wiretime/atomicfile"
	"wiretime/scratch"
)

// howTo says how the kernel is built from the files of SaveSource by hand.
//
//go:embed building.txt
var howTo []byte

// SaveSource writes what Build would make a kernel from into a folder, which it makes: the tarball of Linux, which it
// fetches from the Debian mirror that apt is configured for, our patches and configuration, and how to build it, in the
// file README. These are the corresponding source that the GPL asks for. It returns the path of the tarball, which
// BuildOptions.Source takes. progress may be nil.
//
// The error wraps ErrNoSource or ErrChecksum if that is the cause.
func SaveSource(ctx context.Context, dir string, progress func(Step)) (tarball string, err error) {
	dir, err = filepath.Abs(dir) // apt runs in a folder of its own
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "patches"), 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("save the kernel's source: %w", err)
	}
	work, err := scratch.Make(dir, ".unfinished-")
	if err != nil {
		return "", fmt.Errorf("save the kernel's source: %w", err)
	}
	defer func() { err = errors.Join(err, work.Remove()) }()
	o := BuildOptions{Progress: progress}
	archive, offer, err := o.findSource(ctx, work.Path)
	if err != nil {
		return "", err
	}
	o.step("downloading %s (about 160 MB)", offer)
	from, err := archive.fetch(ctx, offer)
	if err != nil {
		return "", err
	}
	tarball = filepath.Join(dir, filepath.Base(from.path))
	if err := os.Rename(from.path, tarball); err != nil {
		return "", fmt.Errorf("save the kernel's source: %w", err)
	}
	files := map[string][]byte{
		"README":     howTo,
		"SHA256SUMS": fmt.Appendf(nil, "%s  %s\n", from.sha256, filepath.Base(tarball)),
		"ORIGIN":     fmt.Appendf(nil, "%s: from Debian's package %s\n", filepath.Base(tarball), from.name),
	}
	for _, name := range append(patches(), "config.fragment") {
		if files[name], err = made.ReadFile(name); err != nil {
			return "", err
		}
	}
	for name, text := range files {
		if err := atomicfile.WriteBytes(filepath.Join(dir, name), text); err != nil {
			return "", fmt.Errorf("save the kernel's source: %w", err)
		}
	}
	return tarball, nil
}
