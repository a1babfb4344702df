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
	return http.FileServerFS(inside{root.FS()}), nil
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

// inside is a folder without the names that begin with a dot.
type inside struct{ fs.FS }

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".well-known"
}

// Open opens a file. A link that leads out of the folder fails like any other
// missing name.
func (f inside) Open(name string) (fs.File, error) {
	if slices.ContainsFunc(strings.Split(name, "/"), hidden) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file, err := f.FS.Open(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	if list, ok := file.(fs.ReadDirFile); ok && err == nil {
		return shown{list}, nil
	}
	return file, err
}

// shown is an open file or folder.
type shown struct{ fs.ReadDirFile }

// ReadDir lists a folder.
func (s shown) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := s.ReadDirFile.ReadDir(n)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return hidden(e.Name()) }), err
}

// Seek lets http.FileServerFS serve ranges.
func (s shown) Seek(offset int64, whence int) (int64, error) {
	file, ok := s.ReadDirFile.(interface {
		Seek(offset int64, whence int) (int64, error)
	})
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return file.Seek(offset, whence)
}
