// Package mahimahi reads the folders that Mahimahi's recorder mm-webrecord writes
// (Netravali and others, Mahimahi: Accurate Record-and-Replay for HTTP, 2015): a file for
// every request and its response.
package mahimahi

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"wiretime/site/message"
	"wiretime/site/recording"
)

// Options says how to read a folder.
type Options struct {
	// Page is the URL of the page; if empty, [Read] guesses it.
	Page string
	// Limits bound what is read. The limit of exchanges is also that of files.
	Limits recording.Limits
}

// Read reads a folder of records. Its files may have any name. Read leaves out names that
// begin with a dot, and also leaves out, with a repair that names them, damaged records,
// other files, folders, and links that lead out of dir.
//
// Records have no times and no order. The exchanges are in the order of their file names,
// except that the page comes first. Read takes as the page an HTML answer with status 200
// to a GET of the path /, or of any path if there is no such answer; of several, it takes
// the one on the host that most Referer fields name. If a redirect leads to that document,
// the page is the redirect's URL.
//
// Read leaves out bodies that exceed the limit of one body, encoded or decoded. It is an
// error if the folder has no record or exceeds one of the other limits. Files of N octets
// take up to 64 N octets of memory.
func Read(dir string, o Options) (*recording.Recording, error) {
	r, err := read(dir, o, message.NewBudget(o.Limits))
	if err != nil {
		return nil, fmt.Errorf("read the Mahimahi records in %s: %w", dir, err)
	}
	return r, nil
}

func read(dir string, o Options, budget *message.Budget) (*recording.Recording, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	files, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	limits := o.Limits.OrDefault()
	if len(files) > limits.Exchanges {
		return nil, limits.TooManyExchanges("files")
	}
	i := importer{budget: budget, left: limits.Total, referrers: map[string]int{}}
	for _, f := range files {
		name := f.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		err := i.file(root, name)
		if errors.Is(err, message.ErrTotal) {
			return nil, err
		}
		if err != nil {
			i.repair(name, "Left out: %v.", err)
		}
	}
	if len(i.exchanges) == 0 {
		if len(i.repairs) > 0 {
			return nil, fmt.Errorf("none of the files is a record; %s: %s", i.repairs[0].Where, i.repairs[0].What)
		}
		return nil, errors.New("the folder has no files")
	}
	r := &recording.Recording{
		Source: "Mahimahi records of the folder " + strings.ToValidUTF8(filepath.Base(abs), "?"), Exchanges: i.exchanges, Repairs: i.repairs,
	}
	if o.Page != "" {
		r.Page, err = message.Find(r.Exchanges, o.Page)
	} else {
		r.Page = i.page()
	}
	r.Title = cmp.Or(r.Page, r.Source)
	slices.SortStableFunc(r.Exchanges, func(a, b recording.Exchange) int { return order(a, r.Page) - order(b, r.Page) })
	return r, err
}

func order(e recording.Exchange, page string) int {
	if e.URL == page {
		return 0
	}
	return 1
}

// importer holds what has been read so far.
type importer struct {
	budget    *message.Budget
	left      int64 // octets of files that may still be read
	exchanges []recording.Exchange
	referrers map[string]int // host of a Referer field -> number of records
	repairs   []recording.Repair
}

func (i *importer) repair(name, format string, args ...any) {
	i.repairs = append(i.repairs, recording.Repair{Where: strings.ToValidUTF8(name, "?"), What: fmt.Sprintf(format, args...)})
}

// file reads one file of the folder.
func (i *importer) file(root *os.Root, name string) error {
	info, err := root.Stat(name) // refuses links that leave the folder
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if limit := i.budget.Body + 1<<20; info.Size() > limit {
		return fmt.Errorf("%d octets, more than %d (--max-body)", info.Size(), limit)
	}
	if i.left -= info.Size(); i.left < 0 {
		return message.ErrTotal
	}
	octets, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	return i.record(name, octets)
}

// record adds the exchange that one file holds.
func (i *importer) record(name string, octets []byte) error {
	rec, err := parseRecord(octets)
	if err != nil {
		return err
	}
	e := recording.Exchange{Where: strings.ToValidUTF8(name, "?"), Started: -1, Took: -1, DNS: -1, Connect: -1, Wait: -1}
	if e.Method, e.URL, err = rec.target(); err != nil {
		return err
	}
	response, err := message.New(rec.response.firstLine, rec.response.header, rec.response.body, i.budget)
	if err != nil {
		return fmt.Errorf("%.200s: %w", e.URL, err)
	}
	response.Fill(&e)
	if address, err := netip.ParseAddr(rec.ip); err == nil {
		e.Address = address.String()
	}
	for _, what := range response.Repairs {
		i.repair(name, "%.200s: %s", e.URL, what)
	}
	i.exchanges = append(i.exchanges, e)
	if referrer, err := url.Parse(message.Field(rec.request.header, "referer")); err == nil {
		i.referrers[strings.ToLower(referrer.Hostname())]++
	}
	return nil
}

// target returns the method and URL of the request (RFC 9112 section 3).
func (r *record) target() (method, rawURL string, err error) {
	method, rest, _ := strings.Cut(r.request.firstLine, " ")
	target, _, _ := strings.Cut(rest, " ")
	if !httpguts.ValidHeaderFieldName(method) || strings.ToUpper(method) != method {
		return "", "", fmt.Errorf("%.60q is not the first line of a request", r.request.firstLine)
	}
	rawURL = target
	if strings.HasPrefix(target, "/") {
		rawURL = r.origin() + target
	}
	u, err := url.Parse(rawURL)
	if err != nil || !utf8.ValidString(rawURL) || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", "", fmt.Errorf("%.200q is not the URL of a request", rawURL)
	}
	return method, rawURL, nil
}

// origin returns the host that the request names, or else the address it was sent to.
func (r *record) origin() string {
	scheme, port := "http", "80"
	if r.scheme == schemeHTTPS || r.scheme != schemeHTTP && r.port == 443 {
		scheme, port = "https", "443"
	}
	host := message.Field(r.request.header, "host")
	if host == "" {
		host = r.ip
		if actual := strconv.FormatUint(r.port, 10); actual != port {
			host = net.JoinHostPort(r.ip, actual)
		}
	}
	return scheme + "://" + host
}

// page guesses the page as [Read] describes. It returns "" if there is no document.
func (i *importer) page() string {
	best, most := "", [2]int{-1, -1}
	for n := range i.exchanges {
		e := &i.exchanges[n]
		u, err := url.Parse(e.URL)
		if err != nil || !message.IsDocument(e) {
			continue
		}
		score := [2]int{0, i.referrers[strings.ToLower(u.Hostname())]}
		if u.Path == "/" {
			score[0] = 1
		}
		if slices.Compare(score[:], most[:]) > 0 {
			best, most = e.URL, score
		}
	}
	return message.Entry(i.exchanges, best)
}
