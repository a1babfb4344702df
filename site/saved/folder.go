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
	name string // within the page's folder, with the folder's own name before it
	url  string
	body []byte

	asked bool // for, by the page or what it asks for
	kind  kind // as what
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
	p.repairAll("Files that nothing in the page asks for, so they were left out", unused)
	return nil
}

// baseURL is the document's URL: the one that it was saved from, or the root of the site's
// own host.
func (p *page) baseURL(body []byte) *url.URL {
	const comment = 4096 // octets from the beginning in which the comment is looked for
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

// translated is what stands behind the document's name in its folder's: the word for files
// in the language of the browser.
var translated = regexp.MustCompile(`^[-_]\p{L}+$`)

// findFolder is the name of the folder beside the document; empty if there is none.
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
		return "", fmt.Errorf("which folder holds its files is not clear: %s", strings.Join(found, ", "))
	}
	if len(found) == 0 {
		p.repair("", "There is no folder %s_files beside the document: it was read alone.", p.stem)
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
		if len(files) == maxFiles {
			return fmt.Errorf("the folder %s has more than %d files", folder, maxFiles)
		}
		full := folder + "/" + name
		body, err := p.readFile(root, name)
		if none, ok := errors.AsType[*notReadError](err); ok {
			p.repair(strings.ToValidUTF8(full, "?"), "%s: it was left out.", none)
			return nil
		}
		if err != nil {
			return err
		}
		if !utf8.ValidString(name) {
			p.repair(strings.ToValidUTF8(full, "?"), "Its name is not UTF-8: no document can ask for it, and it was left out.")
			return nil
		}
		files = append(files, &savedFile{name: full, url: base.ResolveReference(&url.URL{Path: full}).String(), body: body})
		return nil
	})
	return files, err
}

// maxReferences bounds how many different ones are followed.
const maxReferences = 1_000_000

// follow goes from the document, which is the first file, through all that it asks for,
// tells as what each file is asked for, and names what is not there. folder is the URL of
// the page's folder with a slash behind it; empty if there is none.
func (p *page) follow(files []*savedFile, folder string) {
	byURL := map[string]*savedFile{}
	for _, f := range files {
		byURL[f.url] = f
	}
	document := files[0]
	seen := map[string]bool{document.url: true}
	queue := []*savedFile{document}
	var missing, outside, network []string
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		p.scan(from, func(reference string, u *url.URL, k kind) {
			target := u.String()
			if seen[target] || len(seen) > maxReferences {
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
	p.repairAll("Files that the page asks for and its folder lacks", missing)
	p.repairAll("Files that the page asks for and that are not in its folder, so they were not read", outside)
	p.repairAll("URLs that the page asks for and that were not saved with it, so they will be missed", network)
}

// repairAll names the first of many.
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

// scan finds what a file asks for, if it is a document or a style sheet.
func (p *page) scan(f *savedFile, note func(reference string, target *url.URL, k kind)) {
	base, err := url.Parse(f.url)
	if err != nil {
		return
	}
	s := scanner{base: base, note: note}
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

// isLocal tells whether a reference was meant to lead to a file: it is relative, and not to
// the root of a host.
func isLocal(reference string) bool {
	u, err := url.Parse(reference)
	return err == nil && (u.Scheme == "file" || u.Scheme == "" && u.Host == "" && !strings.HasPrefix(u.Path, "/"))
}

// notReadError is why a file is left out.
type notReadError struct{ reason string }

func (e *notReadError) Error() string { return e.reason }

// readFile reads a regular file of root, or one within root that a link leads to.
func (p *page) readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name) // refuses links that leave root
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: remove it, or put the file itself there", err)
	case !info.Mode().IsRegular():
		return nil, &notReadError{"It is not a file"}
	case info.Size() > maxBody:
		return nil, &notReadError{fmt.Sprintf("It has %d octets, more than %d", info.Size(), maxBody)}
	case info.Size() > p.left:
		return nil, fmt.Errorf("the page has more than %d octets", maxTotal)
	}
	body, err := root.ReadFile(name)
	p.left -= int64(len(body))
	return body, err
}

// contentType is what a server would say of the file. Documents and style sheets say
// themselves in which encoding they are.
func (f *savedFile) contentType() string {
	switch f.kind {
	case kindStylesheet:
		return "text/css"
	case kindScript:
		return "text/javascript"
	}
	// Chromium puts .download behind the names of scripts, so that nobody runs them.
	extension := strings.ToLower(path.Ext(strings.TrimSuffix(f.name, ".download")))
	if t := contentTypes[extension]; t != "" {
		return t
	}
	if f.kind == kindDocument {
		return "text/html"
	}
	return sniff(f.body)
}
