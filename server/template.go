package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wiretime/site"
)

// Template is a study's own server: a command that serves a folder of plain files over one
// origin. It is started once for each origin.
type Template struct {
	Name      string
	Command   []string // a program and its arguments, with placeholders
	Protocols []string // the rows that it can serve
}

// placeholders are the names that may stand in braces in a template's command, for
// values that differ between origins.
var placeholders = []string{"folder", "certificate", "key", "host", "address", "port"}

// Placeholders returns the names that may stand in braces in a template's command: the
// folder of the origin's files, the files with its certificate chain and its key, its host,
// its address and its port.
func Placeholders() []string { return slices.Clone(placeholders) }

// Kind returns the template's kind, which keeps no log.
func (t Template) Kind() Kind {
	return Kind{Name: t.Name, Title: t.Name, Protocols: t.Protocols, Program: t.Command[0], Remedy: "check its command in the study", plain: true,
		configure: func(s *setup) ([]launch, error) { return t.configure(s) }}
}

func (t Template) configure(s *setup) ([]launch, error) {
	files, err := plainFiles(s.Site)
	if err != nil {
		return nil, err
	}
	var launches []launch
	for _, o := range s.origins {
		root := s.file(filepath.Join("files", o.host))
		if err := os.MkdirAll(root, 0o755); err != nil {
			return nil, err
		}
		replace := strings.NewReplacer("{folder}", root, "{certificate}", o.certificate, "{key}", o.key, "{host}", o.host,
			"{address}", o.address.String(), "{port}", strconv.Itoa(s.Protocol.Port))
		args := []string{s.program}
		for _, word := range t.Command[1:] {
			args = append(args, replace.Replace(word))
		}
		launches = append(launches, launch{args: args})
	}
	for name, resource := range files {
		name = s.file(filepath.Join("files", name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		body, err := s.Site.Body(resource)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, body, 0o644); err != nil {
			return nil, err
		}
	}
	return launches, nil
}

// plainFiles maps file names to a site's resources: the host, then the path, with
// index.html appended after a slash. The error says what in the site goes beyond a folder
// of files.
func plainFiles(s *site.Site) (map[string]*site.Resource, error) {
	files := map[string]*site.Resource{}
	for i := range s.Resources {
		r := &s.Resources[i]
		u, err := url.Parse(r.URL)
		if err != nil {
			return nil, err
		}
		coded := slices.ContainsFunc(r.Header, func(h site.Header) bool { return strings.EqualFold(h.Name, "content-encoding") })
		switch {
		case r.Method != http.MethodGet:
			return nil, fmt.Errorf("the site has %s %s", r.Method, r.URL)
		case r.Status != http.StatusOK:
			return nil, fmt.Errorf("%s has status %d", r.URL, r.Status)
		case coded:
			return nil, fmt.Errorf("%s has a content coding", r.URL)
		}
		name, err := fileName(u.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.URL, err)
		}
		name = filepath.Join(u.Host, name)
		if before := files[name]; before != nil && before.Body != r.Body {
			return nil, fmt.Errorf("%s and %s map to one file with two contents", before.URL, r.URL)
		}
		files[name] = r
	}
	for name, r := range files {
		for above := filepath.Dir(name); above != "."; above = filepath.Dir(above) {
			if file := files[above]; file != nil {
				return nil, fmt.Errorf("%s is a file, and %s is in a folder of that name", file.URL, r.URL)
			}
		}
	}
	return files, nil
}

// fileName returns the file of a path.
func fileName(path string) (string, error) {
	if path == "" || strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	name := strings.TrimPrefix(path, "/")
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." || len(segment) > 255 || bytes.ContainsRune([]byte(segment), 0) {
			return "", errors.New("its path is not a valid file path")
		}
	}
	return name, nil
}
