package site

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// FolderOptions says how a folder becomes a site.
type FolderOptions struct {
	// Name of the site; empty: the folder's name in lower case.
	Name string
	// Host the files are served from; empty: www.<name>.test.
	Host string
	// Shards must be 0 or 1: sharding a folder would mean rewriting its pages' references.
	Shards int
	// MaxSize is the most octets that all files may have; 0: 1 GiB.
	MaxSize int64
}

// AddFolder makes an archive at dst from the folder src, which must hold an index.html: the
// page. Every file becomes a resource; an index.html is also served under its folder's URL.
// The content type follows from the file's extension, and text is UTF-8. Names that begin
// with a dot are left out, except .well-known. Links to files inside the folder are
// followed. It is an error if a name leads out of the folder, cannot be read, or is neither
// a file nor a folder. The archive appears at dst whole or not at all.
func AddFolder(src, dst string, opt FolderOptions) (*Site, error) {
	s, err := readFolder(src, opt)
	if err != nil {
		return nil, fmt.Errorf("add the folder %s: %w", src, err)
	}
	if err := s.Save(dst); err != nil {
		return nil, fmt.Errorf("add the folder %s: %w", src, err)
	}
	return s, nil
}

func readFolder(src string, opt FolderOptions) (*Site, error) {
	if opt.Shards > 1 {
		return nil, fmt.Errorf("%d shards: a folder is served from one host; only world-flags can be sharded", opt.Shards)
	}
	abs, err := filepath.Abs(src)
	if err != nil {
		return nil, err
	}
	opt.MaxSize = cmp.Or(opt.MaxSize, 1<<30)
	if opt.Name == "" {
		opt.Name = strings.ToLower(filepath.Base(abs))
	}
	if err := checkName(opt.Name); err != nil {
		return nil, fmt.Errorf("%w: give the site a name", err)
	}
	if opt.Host == "" {
		opt.Host = "www." + opt.Name + ".test"
	}
	if err := checkHost(opt.Host); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(src)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()

	s := &Site{
		Name:   opt.Name,
		Title:  opt.Name,
		Source: "files of the folder " + filepath.Base(abs),
		Page:   "https://" + opt.Host + "/",
		bodies: map[string][]byte{},
	}
	left := opt.MaxSize
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%w: make the folder readable or remove it", err)
		}
		if base := path.Base(name); strings.HasPrefix(base, ".") && base != "." && base != ".well-known" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		body, err := readInside(root, name, d, left)
		if err != nil {
			return err
		}
		if left -= int64(len(body)); left < 0 {
			return fmt.Errorf("the files exceed %d octets: raise the limit with --max-size", opt.MaxSize)
		}
		header := []Header{{"content-type", contentType(name)}}
		if dir, base := path.Split(name); base == "index.html" {
			s.addResource(fileURL(opt.Host, dir), header, body)
		}
		s.addResource(fileURL(opt.Host, name), header, body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.Resources) == 0 {
		return nil, errors.New("the folder is empty: add an index.html")
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("%w: the page must be the file index.html at the top of the folder", err)
	}
	return s, nil
}

// readInside reads a regular file of root, following links that stay inside root. Of a file with
// more than most octets it returns one more.
func readInside(root *os.Root, name string, d fs.DirEntry, most int64) ([]byte, error) {
	info, err := root.Stat(name) // follows links, refuses those that leave root
	switch {
	case err != nil && d.Type()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q is a broken link: remove it", name)
	case err != nil && d.Type()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%q is a link that leads out of the folder (%w): replace it with the file", name, err)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%q is a link to a folder: replace it with the folder", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is not a regular file (%s): remove it", name, info.Mode().Type())
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: make the file readable or remove it", err)
	}
	defer func() { _ = f.Close() }()
	body, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	return body, nil
}

// addResource appends a 200 response to GET with the given body.
func (s *Site) addResource(rawURL string, header []Header, body []byte) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	s.bodies[hash] = body
	s.Resources = append(s.Resources, Resource{
		Method: "GET", URL: rawURL, Status: 200, Header: header, Body: hash, Size: int64(len(body)),
	})
}

// unchanging marks a made site's images as fresh for a year, so that a client that has them
// does not revalidate.
var unchanging = Header{"cache-control", "max-age=31536000"}

// addMadePage appends a page of a made site. A client that has it must revalidate it, and
// gets a 304.
func (s *Site) addMadePage(rawURL string, body []byte) {
	s.addResource(rawURL, []Header{{"content-type", contentTypes[".html"]}, {"etag", entityTag(body)}}, body)
}

// entityTag returns a strong validator (RFC 9110 section 8.8.3) for a body.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return fmt.Sprintf(`"%x"`, sum[:8])
}

func fileURL(host, name string) string {
	segments := strings.Split(name, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return "https://" + host + "/" + strings.Join(segments, "/")
}

// contentTypes maps extensions to the types registered with IANA. The mime package's
// answers depend on the machine.
var contentTypes = map[string]string{
	".apng":        "image/apng",
	".avif":        "image/avif",
	".bmp":         "image/bmp",
	".css":         "text/css; charset=utf-8",
	".csv":         "text/csv; charset=utf-8",
	".flac":        "audio/flac",
	".gif":         "image/gif",
	".htm":         "text/html; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/vnd.microsoft.icon",
	".jpeg":        "image/jpeg",
	".jpg":         "image/jpeg",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".jxl":         "image/jxl",
	".m3u8":        "application/vnd.apple.mpegurl",
	".m4a":         "audio/mp4",
	".m4s":         "video/iso.segment",
	".map":         "application/json",
	".md":          "text/markdown; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".mp3":         "audio/mpeg",
	".mp4":         "video/mp4",
	".mpd":         "application/dash+xml",
	".ogg":         "audio/ogg",
	".otf":         "font/otf",
	".pdf":         "application/pdf",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".ts":          "video/mp2t",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".vtt":         "text/vtt; charset=utf-8",
	".wasm":        "application/wasm",
	".wav":         "audio/wav",
	".webm":        "video/webm",
	".webmanifest": "application/manifest+json",
	".webp":        "image/webp",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
	".xhtml":       "application/xhtml+xml; charset=utf-8",
	".xml":         "text/xml; charset=utf-8",
}

func contentType(name string) string {
	if t, ok := contentTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}
