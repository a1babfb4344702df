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
	"wiretime/site"
)

// Folder answers requests from a folder. With an index.html at its top the folder
// is a site, as package site reads it: all is read now, and served from memory,
// byte for byte the same over every protocol. Without, its files are served as
// they are at the time of a request, its folders as lists. Either way nothing is
// served that lies outside, and no name that begins with a dot, except
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

// folderSite has package site read the folder. It keeps what it has read.
func folderSite(dir string) (http.Handler, error) {
	parent, err := os.MkdirTemp("", "wiretime-site-")
	if err != nil {
		return nil, fmt.Errorf("serve the folder %s: %w", dir, err)
	}
	defer os.RemoveAll(parent)
	const host = "www.folder.test" // whatever name it is asked for by
	s, err := site.AddFolder(dir, filepath.Join(parent, "site"), site.FolderOptions{Name: "folder", Host: host})
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

// Open opens a file. That a link leads out of the folder is told like any other
// refusal.
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

// Seek is there for http.FileServerFS, which serves ranges by it.
func (s shown) Seek(offset int64, whence int) (int64, error) {
	file, ok := s.ReadDirFile.(interface {
		Seek(offset int64, whence int) (int64, error)
	})
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return file.Seek(offset, whence)
}
