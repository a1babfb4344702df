package saved

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// savedFile is a file of the page.
type savedFile struct {
	name string // path that begins with the name of the page's folder
	url  string
	body []byte

	asked bool // requested by the page or its subresources
	kind  kind // how it was requested
}

// savedFrom is the comment with which Chromium begins a document that it saves, as Internet
// Explorer did: the length of the URL and the URL.
var savedFrom = regexp.MustCompile(`<!-- saved from url=\(\d{4}\)(\S+) -->`)

// readFolder reads a document and its folder.
func (p *page) readFolder() error {
	body, err := p.readFile(p.root, p.file)
	if err != nil {
		return err
	}
	base := p.baseURL(body)
	document := &savedFile{name: p.file, url: base.String(), body: body, asked: true, kind: kindDocument}
	files := []*savedFile{document}
	folder, err := p.findFolder()
	if err != nil {
		return err
	}
	if folder != "" {
		more, err := p.readFiles(folder, base)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	p.recording.Page = document.url
	inside := ""
	if folder != "" {
		inside = base.ResolveReference(&url.URL{Path: folder + "/"}).String()
	}
	p.follow(files, inside)
	var unused []string
	for _, f := range files {
		if !f.asked {
			unused = append(unused, f.name)
			continue
		}
		p.add(strings.ToValidUTF8(f.name, "?"), f.url, f.contentType(), f.body)
	}
	p.repairAll("Files that the page does not reference were left out", unused)
	return nil
}

// baseURL returns the document's URL: the one it was saved from, or the root of the site's
// own host.
func (p *page) baseURL(body []byte) *url.URL {
	const comment = 4096 // first octets of the document, which are searched for the comment
	own := &url.URL{Scheme: "https", Host: p.host, Path: "/"}
	match := savedFrom.FindSubmatch(body[:min(len(body), comment)])
	if match == nil {
		return own
	}
	u, err := url.Parse(string(match[1]))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !utf8.Valid(match[1]) {
		return own
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	if u.Path == "" {
		u.Path = "/"
	}
	return u
}

// translated matches the suffix of a folder's name after the document's: the word for files
// in the browser's language.
var translated = regexp.MustCompile(`^[-_]\p{L}+$`)

// findFolder returns the name of the folder next to the document, or "".
func (p *page) findFolder() (string, error) {
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), p.stem)
		if !ok || !translated.MatchString(rest) {
			continue
		}
		if info, err := p.root.Stat(e.Name()); err != nil || !info.IsDir() {
			continue
		}
		if rest == "_files" {
			return e.Name(), nil
		}
		found = append(found, e.Name())
	}
	if len(found) > 1 {
		return "", fmt.Errorf("several folders may hold its files: %.80q", found)
	}
	if len(found) == 0 {
		p.repair("", "The folder %s_files is missing: the document was read without it.", p.stem)
		return "", nil
	}
	return found[0], nil
}

// readFiles reads all files of the folder.
func (p *page) readFiles(folder string, base *url.URL) ([]*savedFile, error) {
	root, err := p.root.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var files []*savedFile
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(path.Base(name), ".") && name != "." {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if len(files) == p.limits.Exchanges {
			return p.limits.TooManyExchanges("files")
		}
		full := folder + "/" + name
		body, err := p.readFile(root, name)
		if none, ok := errors.AsType[*notReadError](err); ok {
			p.repair(strings.ToValidUTF8(full, "?"), "Left out: %s.", none)
			return nil
		}
		if err != nil {
			return err
		}
		if !utf8.ValidString(name) {
			p.repair(strings.ToValidUTF8(full, "?"), "The name is not UTF-8, so no document can reference it: left out.")
			return nil
		}
		files = append(files, &savedFile{name: full, url: base.ResolveReference(&url.URL{Path: full}).String(), body: body})
		return nil
	})
	return files, err
}

// resolved limits the octets of references that are resolved, each with its base: so many for
// each octet of the page, beside a MiB.
const resolved = 16

// follow goes from the document, the first file, through all references, notes how each
// file is used, and reports missing ones. folder is the URL of the page's folder with a
// trailing slash, or "".
func (p *page) follow(files []*savedFile, folder string) {
	byURL := map[string]*savedFile{}
	for _, f := range files {
		byURL[f.url] = f
	}
	document := files[0]
	seen := map[string]bool{document.url: true}
	queue := []*savedFile{document}
	var missing, outside, network []string
	left := resolved*(p.limits.Total-p.left) + 1<<20
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		p.scan(from, &left, func(reference string, u *url.URL, k kind) {
			target := u.String()
			if seen[target] {
				return
			}
			seen[target] = true
			f := byURL[target]
			switch {
			case f != nil:
				f.asked, f.kind = true, k
				queue = append(queue, f)
			case folder != "" && strings.HasPrefix(target, folder):
				missing = append(missing, strings.TrimPrefix(target, folder))
			case isLocal(reference):
				outside = append(outside, reference)
			case u.Scheme == "http" || u.Scheme == "https":
				network = append(network, target)
			}
		})
	}
	if left < 0 {
		p.repair("", "The page has more or longer references than a page of its size should have: the last ones were not followed.")
	}
	p.repairAll("Files that the page references but the folder lacks", missing)
	p.repairAll("Files outside the folder that the page references were not read", outside)
	p.repairAll("URLs that the page references but the browser did not save will be missing", network)
}

// repairAll adds a repair that names the first few of many.
func (p *page) repairAll(what string, names []string) {
	const shown = 10
	if len(names) == 0 {
		return
	}
	rest := ""
	if len(names) > shown {
		rest = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	p.repair("", "%s: %.2000s%s.", what, strings.Join(names, ", "), rest)
}

// scan reports the references of a document or style sheet, while something is left of the
// octets that may be resolved.
func (p *page) scan(f *savedFile, left *int64, note func(reference string, target *url.URL, k kind)) {
	base, err := url.Parse(f.url)
	if err != nil {
		return
	}
	s := scanner{base: base, left: left, note: note}
	switch f.contentType() {
	case "text/html", "application/xhtml+xml", "image/svg+xml":
		s.html(f.body)
	case "text/css":
		s.css(f.body)
	}
	if f.name == p.file {
		p.recording.Title = s.title
	}
}

// isLocal reports whether a reference was meant for a saved file: it is relative and not to
// the root of a host.
func isLocal(reference string) bool {
	u, err := url.Parse(reference)
	return err == nil && (u.Scheme == "file" || u.Scheme == "" && u.Host == "" && !strings.HasPrefix(u.Path, "/"))
}

// notReadError says why a file is left out.
type notReadError struct{ reason string }

func (e *notReadError) Error() string { return e.reason }

// readFile reads a regular file of root, following links within root.
func (p *page) readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name) // refuses links that leave root
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: remove it, or replace it with the file", err)
	case !info.Mode().IsRegular():
		return nil, &notReadError{"not a regular file"}
	case info.Size() > p.limits.Body:
		return nil, &notReadError{p.limits.BodyTooLong(info.Size())}
	case info.Size() > p.left:
		return nil, p.limits.TooLong("the page")
	}
	body, err := root.ReadFile(name)
	p.left -= int64(len(body))
	return body, err
}

// contentType returns the Content-Type that a server would send. Documents and style sheets
// state their own encoding.
func (f *savedFile) contentType() string {
	switch f.kind {
	case kindStylesheet:
		return "text/css"
	case kindScript:
		return "text/javascript"
	}
	// Chromium appends .download to the names of scripts, so that nobody runs them.
	extension := strings.ToLower(path.Ext(strings.TrimSuffix(f.name, ".download")))
	if t := contentTypes[extension]; t != "" {
		return t
	}
	if f.kind == kindDocument {
		return "text/html"
	}
	return sniff(f.body)
}
