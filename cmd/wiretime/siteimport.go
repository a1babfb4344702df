package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/site/har"
	"wiretime/site/mahimahi"
	"wiretime/site/recording"
	"wiretime/site/saved"
	"wiretime/site/urllist"
	"wiretime/site/warc"
)

// importOptions are the flags of site import.
type importOptions struct {
	name, format, page string
	rename             []string
	replace, all       bool
}

// importFormats are the words for what can be imported.
var importFormats = []string{"har", "warc", "mahimahi", "saved", "urls"}

func siteImportCommand() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE|DIR", Short: "Import a page that another tool has recorded or saved",
		Long: `Import makes a site of

  har       a HAR file, with bodies or without: then bodies are made to the recorded
            sizes and types, that ask for what the recorded ones asked for
  warc      a WARC file, .warc or .warc.gz
  mahimahi  a folder that mahimahi's mm-webrecord has written
  saved     a page saved by a browser: X.html beside its folder X_files, or .mhtml
  urls      a list of URLs, one on a line

What a file is is told from what is in it. What had to be repaired or left out is
listed; values of cookies are blanked.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return importSite(args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "the site's name (default: made of the file's)")
	f.StringVar(&o.format, "format", "", "one of "+strings.Join(importFormats, ", ")+" (default: what the file looks like)")
	f.StringVar(&o.page, "page", "", "which page: of a HAR of several its id or number, of other formats its URL")
	f.StringArrayVar(&o.rename, "rename-host", nil, "`A=B`: give the host A the name B, in URLs and bodies")
	f.BoolVar(&o.replace, "replace", false, "put it in the place of a site of the same name")
	f.BoolVar(&o.all, "all-repairs", false, "list each repair, not the first of them")
	return c
}

func importSite(name string, o importOptions) error {
	if o.name == "" {
		o.name = siteName(name)
	}
	format := o.format
	if format == "" {
		var err error
		if format, err = formatOf(name); err != nil {
			return input(fmt.Errorf("import %s: %w", name, err))
		}
	}
	r, err := readRecording(name, format, o)
	if err != nil {
		return input(fmt.Errorf("import: %w", err))
	}
	s, repairs, err := r.Site(o.name, recording.Options{})
	if err != nil {
		return input(fmt.Errorf("import: %w", err))
	}
	printRepairs(os.Stderr, repairs, o.all)
	if s, err = renameHosts(s, o.rename); err != nil {
		return input(err)
	}
	return keepSite(s, o.replace)
}

// readRecording reads what another tool has left.
func readRecording(name, format string, o importOptions) (*recording.Recording, error) {
	switch format {
	case "mahimahi":
		return mahimahi.Read(name, mahimahi.Options{Page: o.page})
	case "saved":
		return saved.Read(name, saved.Options{Name: o.name})
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	source := filepath.Base(name)
	switch format {
	case "har":
		return har.Read(file, source, har.Options{Page: o.page})
	case "warc":
		return warc.Read(file, source, warc.Options{Page: o.page})
	case "urls":
		return urllist.Read(file, source, urllist.Options{Name: o.name})
	}
	return nil, fmt.Errorf("--format: %q is none of %s", format, strings.Join(importFormats, ", "))
}

// shownRepairs is how many repairs are listed unless all are wanted.
const shownRepairs = 20

func printRepairs(out io.Writer, repairs []recording.Repair, all bool) {
	if len(repairs) == 0 {
		return
	}
	fmt.Fprintf(out, "Repaired or left out: %d\n", len(repairs))
	for i, r := range repairs {
		if i == shownRepairs && !all {
			fmt.Fprintf(out, "  and %d more, which --all-repairs lists\n", len(repairs)-i)
			break
		}
		if r.Where != "" {
			fmt.Fprintf(out, "  %s: %s\n", r.Where, r.What)
		} else {
			fmt.Fprintf(out, "  %s\n", r.What)
		}
	}
}

// siteName makes a site's name of a file's.
func siteName(file string) string {
	base := strings.ToLower(filepath.Base(filepath.Clean(file)))
	for _, ending := range []string{".gz", ".har", ".warc", ".html", ".htm", ".mhtml", ".mht", ".txt", ".json"} {
		base = strings.TrimSuffix(base, ending)
	}
	return dashed(base)
}

// dashed keeps of a text what may stand in a site's name.
func dashed(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	return strings.Trim(name[:min(len(name), 63)], "-")
}

// formatOf tells what a file or folder is from what is in it.
func formatOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return formatOfFolder(name)
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	head, err := bufio.NewReaderSize(file, 4096).Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		head = unzipped(head)
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
	lower := strings.ToLower(text)
	ending := strings.ToLower(filepath.Ext(name))
	switch {
	case len(head) == 0:
		return "", errors.New("the file is empty")
	case strings.HasPrefix(text, "WARC/"), ending == ".warc", ending == ".wacz":
		return "warc", nil
	case strings.HasPrefix(text, "{"), ending == ".har":
		return "har", nil
	case ending == ".mht", ending == ".mhtml", strings.HasPrefix(lower, "from: <saved by"), strings.Contains(lower, "content-type: multipart/related"):
		return "saved", nil
	case ending == ".html", ending == ".htm", strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"):
		return "saved", nil
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"), strings.HasPrefix(text, "#"):
		return "urls", nil
	}
	return "", fmt.Errorf("it looks like none of %s: name one with --format", strings.Join(importFormats, ", "))
}

// unzipped is as much of a gzip member as its beginning holds.
func unzipped(head []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return head
	}
	text := make([]byte, 512)
	n, _ := io.ReadFull(z, text) // the beginning ends in the middle
	return text[:n]
}

func formatOfFolder(name string) (string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "index.html" }) {
		return "", fmt.Errorf("it is a folder with an index.html: wiretime site add %s", name)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "save.") }) {
		return "mahimahi", nil
	}
	return "", errors.New("it is a folder, but no file of it begins with \"save.\" as those of mm-webrecord do: name the file of a saved page, or say --format mahimahi")
}
