package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"wiretime/protocol"
	"wiretime/scratch"
	"wiretime/site"
)

// Folder returns a handler for a folder. A folder with an index.html at its top
// is a site, as package site reads it: Folder reads it all now and serves it from
// memory, byte for byte the same over every protocol. Otherwise its files are
// served as they are at the time of a request, and its folders as lists. Nothing
// outside the folder is served, and no name that begins with a dot, except
// .well-known.
func Folder(dir string) (http.Handler, error) {
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err == nil {
		return folderSite(dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("serve the folder %s: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("serve the folder %s: %w", dir, err)
	}
	return http.FileServerFS(inside{root}), nil
}

// folderSite reads the folder with package site, and keeps its content.
func folderSite(dir string) (http.Handler, error) {
	parent, err := scratch.Make("", "wiretime-site-")
	if err != nil {
		return nil, fmt.Errorf("serve the folder %s: %w", dir, err)
	}
	defer parent.Remove()
	const host = "www.folder.test" // under whatever name clients request it
	s, err := site.AddFolder(dir, filepath.Join(parent.Path, "site"), site.FolderOptions{Name: "folder", Host: host})
	if err != nil {
		return nil, err
	}
	return protocol.Archive(func(method, _, path string) protocol.Answer {
		a := s.Respond(method, host, path)
		return protocol.Answer{Status: a.Status, Header: a.Header, Body: a.Body, Miss: a.Resource == nil || !a.Exact}
	}), nil
}

// inside is a folder without the names that begin with a dot, and without what is neither
// a file nor a folder.
type inside struct{ root *os.Root }

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".well-known"
}

// Open opens a file or a folder. A link is followed if it stays in the folder; one that
// leads out is forbidden, as are pipes, sockets and devices.
func (f inside) Open(name string) (fs.File, error) {
	fail := func(cause error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: cause} }
	if !fs.ValidPath(name) || slices.ContainsFunc(strings.Split(name, "/"), hidden) {
		return fail(fs.ErrNotExist)
	}
	// Opening a device may have effects, and reading a pipe waits for ever.
	if info, err := f.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return fail(fs.ErrNotExist)
	} else if err != nil || !servable(info) {
		return fail(fs.ErrPermission)
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return fail(fs.ErrPermission)
	}
	if info, err := file.Stat(); err != nil || !servable(info) { // replaced since
		_ = file.Close()
		return fail(fs.ErrPermission)
	}
	return shown{file}, nil
}

func servable(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

// shown is an open file or folder.
type shown struct{ *os.File }

// ReadDir lists a folder.
func (s shown) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := s.File.ReadDir(n)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return hidden(e.Name()) }), err
}
